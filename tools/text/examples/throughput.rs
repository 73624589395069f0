//! MB/s of UTF-8 for each preset, on one core: `cargo run --release -p fpstore-text --example
//! throughput [PRESET...]`.
//!
//! The texts are made of the crate's own documentation and of frequent words, English (ASCII) and
//! Chinese, some 2 KB each; with `FPSTORE_TEXTS=FILE` they are the lines of a file. Time is that of
//! the processor, where the system tells it, so that other programs disturb less; the figure is the
//! median of five rounds. With `FPSTORE_THREADS=2` there is a second figure, of so many threads by
//! the clock, and the first is by the clock as well. With `FPSTORE_JSON=1` each row is an object.
//!
//! Where the time goes is told by recipes that do less: `exact` prepares the text and hashes it;
//! `minhash` with one slot cuts it into words and hashes n-grams of these, too; what is left is the
//! method's own.

use std::thread;
use std::time::Instant;

use fpstore_text::{Fingerprinter, Found, Recipe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sets = match std::env::var("FPSTORE_TEXTS") {
        Ok(path) => vec![(
            path.clone(),
            std::fs::read_to_string(path)?.lines().map(str::to_owned).collect(),
        )],
        Err(_) => vec![("English".to_owned(), english()), ("Chinese".to_owned(), chinese())],
    };
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let threads = std::env::var("FPSTORE_THREADS").ok().and_then(|threads| threads.parse().ok());
    let json = std::env::var_os("FPSTORE_JSON").is_some();
    let parts = ["exact space=keep", "minhash-128 slots=1"];
    let presets = Recipe::presets().iter().map(|(name, _)| *name);
    for (name, texts) in &sets {
        let bytes: usize = texts.iter().map(String::len).sum();
        if !json {
            println!("{name}: {} texts, {bytes} bytes", texts.len());
        }
        for preset in presets.clone().chain(parts) {
            let all = wanted.is_empty();
            let Ok(recipe) = preset.parse::<Recipe>() else { continue };
            if !all && !wanted.iter().any(|one| one == preset) {
                continue;
            }
            let mut fingerprinter = Fingerprinter::new(&recipe)?;
            let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
            let Some(threads) = threads else {
                println!("  {preset:36}{:8.0} MB/s", rate(seconds(&mut fingerprinter, texts)));
                continue;
            };
            let [one, several] =
                [1, threads].map(|threads| rate(clock(&fingerprinter, texts, threads)));
            match json {
                true => println!(
                    "{{\"recipe\":\"{preset}\",\"one\":{one:.1},\"threads\":{several:.1}}}"
                ),
                false => println!(
                    "  {preset:36}{one:8.0} MB/s, {several:8.0} on {threads} threads, {:.2} times",
                    several / one
                ),
            }
        }
    }
    Ok(())
}

/// How long all texts take once.
fn seconds(fingerprinter: &mut Fingerprinter, texts: &[String]) -> f64 {
    let mut rounds: Vec<f64> = (0..5)
        .map(|_| {
            let (start, mut times) = (now(), 0);
            while now() - start < 0.1 {
                let found = texts.iter().filter(|text| {
                    matches!(fingerprinter.fingerprint(text.as_bytes()).found, Found::Signature(_))
                });
                assert!(found.count() * 2 > texts.len(), "most texts have a signature");
                times += 1;
            }
            (now() - start) / f64::from(times)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[2]
}

/// How long all texts take once by the clock, dealt out to so many threads: the best of some
/// rounds.
fn clock(fingerprinter: &Fingerprinter, texts: &[String], threads: usize) -> f64 {
    let round = || {
        let mut times = 0;
        let start = Instant::now();
        while start.elapsed().as_secs_f64() < 0.2 {
            times += 8;
            thread::scope(|scope| {
                for thread in 0..threads {
                    let mut mine = fingerprinter.clone();
                    scope.spawn(move || {
                        for text in (0..8).flat_map(|_| texts.iter().skip(thread).step_by(threads))
                        {
                            std::hint::black_box(mine.fingerprint(text.as_bytes()));
                        }
                    });
                }
            });
        }
        start.elapsed().as_secs_f64() / f64::from(times)
    };
    (0..5).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Seconds of processor time; of the clock where the system does not tell.
fn now() -> f64 {
    thread_local!(static START: Instant = Instant::now());
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|line| line.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(
        || START.with(|start| start.elapsed().as_secs_f64()),
        |nanoseconds| nanoseconds / 1e9,
    )
}

/// Texts whose words have the frequencies of real ones: every third from the documentation, the
/// others in the order of a generator.
fn mixed(words: &[&str], join: &str, per_text: usize) -> Vec<String> {
    let mut state = 88_172_645_463_325_252u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let text = |_| {
        (0..per_text)
            .map(|index| words[if index % 3 == 0 { index } else { next() } % words.len()])
            .collect::<Vec<_>>()
            .join(join)
    };
    (0..500).map(text).collect()
}

fn english() -> Vec<String> {
    let text = include_str!("../GRAMMAR.md");
    let words: Vec<&str> = text.split_whitespace().filter(|word| word.is_ascii()).collect();
    mixed(&words, " ", 400)
}

fn chinese() -> Vec<String> {
    const TEXT: &str = "港务长每天黎明数一次船，黄昏再数一次。没有人要求他这样做；到下一个港口有三点五海里，而他睡得不好。一共有四十一艘，\
        其中一艘昨天还不在。潮汐表摊开在他的桌子上，那艘船叫什么名字？它已经被重新漆过两次了。文档的指纹是一个数字，两个文档越相似，它们的指纹相差的\
        位数就越少。特征是相邻的几个词或者几个字符，每个特征都有一个权重，权重可以是它出现的次数，也可以是它在语料库中的稀有程度。";
    let pieces: Vec<&str> =
        TEXT.char_indices().map(|(at, one)| &TEXT[at..at + one.len_utf8()]).collect();
    mixed(&pieces, "", 700)
}
