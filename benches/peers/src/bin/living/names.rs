//! Ids that are names: what they take, how fast they are written and found, beside numbers, zstd
//! and redb.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use clap::Args;
use fpstore::internals::Names as NameColumn;
use fpstore::{IdKind, Packer, Store};
use redb::{Durability, ReadableDatabase, TableDefinition};

use super::{Common, Result, percentile, uniform};

/// Names that are looked up.
const LOOKUPS: u64 = 1_000_000;
/// Of them with nothing in the memory of the system.
const COLD_LOOKUPS: u64 = 300;
/// Bytes of a piece that zstd compresses alone.
const PIECE: usize = 4096;
const LEVEL: i32 = 3;

#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// Names of a file, one in each line, instead of urls from a grammar.
    #[arg(long)]
    lines: Option<std::path::PathBuf>,
}

const SYLLABLES: [&str; 32] = [
    "ba", "con", "der", "el", "fi", "gra", "hu", "in", "ja", "ker", "lo", "men", "na", "or", "pe",
    "qui", "ra", "ser", "ti", "un", "ver", "wa", "xi", "yo", "za", "ble", "cher", "dow", "ent",
    "ing", "sta", "tion",
];

fn word(into: &mut String, number: u64) {
    let mut random = uniform(number ^ 0x776F_7264);
    for _ in 0..2 + random % 3 {
        random = uniform(random);
        into.push_str(SYLLABLES[(random % 32) as usize]);
    }
}

/// A number below `count`, the small ones far more often.
fn skewed(random: u64, count: u64) -> u64 {
    let share = (random >> 11) as f64 / (1u64 << 53) as f64;
    (share.powi(4) * count as f64) as u64
}

/// Url number `i`; all are different.
fn url(i: u64) -> String {
    let mut random = uniform(i ^ 0x75_726C);
    let mut next = || {
        random = uniform(random);
        random
    };
    let mut url = String::from(["https://www.", "https://", "http://"][(next() % 3) as usize]);
    word(&mut url, skewed(next(), 50_000));
    url.push_str([".com/", ".org/", ".de/", ".co.uk/", ".net/"][(next() % 5) as usize]);
    if next() % 3 == 0 {
        let (year, month) = (2005 + next() % 20, 1 + next() % 12);
        url.push_str(&format!("{year}/{month:02}/"));
    }
    for _ in 0..next() % 3 {
        word(&mut url, skewed(next(), 2000));
        url.push('/');
    }
    for _ in 0..1 + next() % 4 {
        word(&mut url, skewed(next(), 20_000));
        url.push('-');
    }
    url.push_str(&format!("{i}{}", ["", ".html", "/", "?page=2"][(next() % 4) as usize]));
    url
}

/// Bytes that the names take as zstd has them, in pieces.
fn zstd_bytes(names: &[&str]) -> Result<u64> {
    let (mut bytes, mut piece) = (0, Vec::new());
    for name in names {
        piece.extend_from_slice(name.as_bytes());
        piece.push(b'\n');
        if piece.len() >= PIECE {
            bytes += zstd::bulk::compress(&piece, LEVEL)?.len() as u64;
            piece.clear();
        }
    }
    Ok(bytes + zstd::bulk::compress(&piece, LEVEL)?.len() as u64)
}

/// Names one after the other in memory, so that nobody waits for them.
pub struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    /// Those of these places, in this order.
    fn of(names: &[&str], places: impl Iterator<Item = u64>) -> Self {
        let mut made = Self { text: String::new(), ends: vec![0] };
        places.for_each(|place| made.push(names[place as usize]));
        made
    }

    /// The first urls.
    pub fn of_urls(count: u64) -> Self {
        let mut made = Self { text: String::new(), ends: vec![0] };
        (0..count).for_each(|i| made.push(&url(i)));
        made
    }

    fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    pub fn get(&self, i: u64) -> &str {
        &self.text[self.ends[i as usize]..self.ends[i as usize + 1]]
    }
}

/// Times calls one by one, in microseconds: mean, p50 and p99.
fn timed(what: &str, count: u64, mut call: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let mut times = Vec::with_capacity(count as usize);
    let start = Instant::now();
    for i in 0..count {
        call(i)?;
    }
    let mean = start.elapsed().as_secs_f64() * 1e6 / count as f64;
    for i in 0..count {
        let start = Instant::now();
        call(i)?;
        times.push(start.elapsed().as_nanos().min(u128::from(u32::MAX)) as u32);
    }
    times.sort_unstable();
    let (p50, p99) = (percentile(&times, 0.5), percentile(&times, 0.99));
    println!("{what}: mean {mean:.2}, p50 {p50:.2}, p99 {p99:.2} us");
    Ok(())
}

/// Bytes that this process has had read from the disk so far, with what the system read ahead.
fn read_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Times reads of 4 KiB at any place of the largest file of a directory, none of which is in the
/// memory of the system: what a look-up that needs two of them cannot beat by half.
fn time_cold_reads(path: &Path) -> Result<()> {
    forget(path)?;
    let files = std::fs::read_dir(path)?.collect::<std::io::Result<Vec<_>>>()?;
    let sized = files.iter().map(|file| Ok((file.metadata()?.len(), file.path())));
    let sized = sized.collect::<std::io::Result<Vec<_>>>()?;
    let largest = sized.into_iter().max().filter(|(bytes, _)| *bytes >= 4096);
    let (bytes, largest) = largest.ok_or("no file has 4 KiB")?;
    let file = std::fs::File::open(largest)?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random)?;
    let (mut times, mut page) = (Vec::new(), [0; 4096]);
    for i in 0..COLD_LOOKUPS {
        let at = uniform(i ^ 0x5EA7) % (bytes / 4096) * 4096;
        let start = Instant::now();
        file.read_exact_at(&mut page, at)?;
        times.push(start.elapsed().as_nanos() as u32);
    }
    times.sort_unstable();
    let (p50, p99) = (percentile(&times, 0.5), percentile(&times, 0.99));
    println!("cold, a read of 4 KiB: p50 {p50:.0}, p99 {p99:.0} us");
    Ok(())
}

/// A value in KiB of `/proc/self/status`.
fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Takes the files of a directory out of the memory of the system.
fn forget(path: &Path) -> Result<()> {
    for entry in std::fs::read_dir(path)? {
        let file = std::fs::File::open(entry?.path())?;
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    }
    Ok(())
}

pub fn run(options: &Options) -> Result<()> {
    let text = options.lines.as_ref().map(std::fs::read_to_string).transpose()?;
    let count = options.common.records;
    let made: Vec<String> = match text {
        Some(_) => Vec::new(),
        None => (0..count).map(url).collect(),
    };
    let mut names: Vec<&str> = match &text {
        Some(text) => text.lines().take(count as usize).collect(),
        None => made.iter().map(String::as_str).collect(),
    };
    // In an order that has nothing to do with that of the names.
    names.sort_by_cached_key(|name| {
        name.bytes().fold(7, |hash, byte| uniform(hash ^ u64::from(byte)))
    });
    let count = names.len() as u64;
    let plain: u64 = names.iter().map(|name| name.len() as u64 + 1).sum();
    println!("{count} names, {:.2} bytes each with the ends of lines", plain as f64 / count as f64);
    let directory = options.common.directory()?;
    packed(directory.path(), &names)?;
    redb(directory.path(), &names)?;
    living(options, directory.path(), &names)
}

fn packed(directory: &Path, names: &[&str]) -> Result<()> {
    let count = names.len() as u64;
    let numbers = directory.join("numbers");
    let start = Instant::now();
    Packer::new().pack_with_ids(&numbers, (0..count).map(|i| (uniform(i), i)))?;
    let of_numbers = start.elapsed().as_secs_f64();
    let path = directory.join("packed");
    let start = Instant::now();
    let pairs = names.iter().enumerate().map(|(i, name)| (uniform(i as u64), *name));
    Packer::new().ids(IdKind::Text).pack_with_ids(&path, pairs)?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "pack: {:.0} names per second, {:.0} numbers",
        count as f64 / seconds,
        count as f64 / of_numbers
    );

    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let before = status("RssAnon");
    let store = Store::open(&path)?;
    let lists = NameColumn::of(&store.snapshot())?;
    let [list] = &lists[..] else { return Err("the store has one list of names".into()) };
    let each = |bytes: u64| bytes as f64 / sorted.len() as f64;
    let zstd = each(zstd_bytes(&sorted)?);
    println!(
        "bytes per name: {:.2}; zstd at level {LEVEL} in pieces of {PIECE}: {zstd:.2} sorted (ratio {:.3}), {:.2} \
         as they came; heap {:.3}",
        each(list.file_bytes()),
        each(list.file_bytes()) / zstd,
        each(zstd_bytes(names)?),
        each(list.heap_bytes()),
    );
    let mut name = Vec::new();
    let any = |i: u64| uniform(i) % list.count();
    let wanted = Names::of(&sorted, (0..LOOKUPS).map(any));
    timed("name of a number", LOOKUPS, |i| {
        list.name(any(i), &mut name)?;
        let is_right = name == wanted.get(i).as_bytes();
        if is_right { Ok(()) } else { Err("another name".into()) }
    })?;
    timed("number of a name", LOOKUPS, |i| {
        let found = list.find(wanted.get(i).as_bytes())?;
        if found == Some(any(i)) { Ok(()) } else { Err("another number".into()) }
    })?;
    let anonymous = status("RssAnon").saturating_sub(before);
    println!("memory with the store open: {anonymous} KiB besides mapped files");
    drop((lists, store));

    time_cold_reads(&path)?;
    for is_name in [true, false] {
        forget(&path)?;
        let store = Store::open(&path)?;
        let lists = NameColumn::of(&store.snapshot())?;
        let (mut read, mut times) = (Vec::new(), Vec::new());
        for i in 0..COLD_LOOKUPS {
            let number = uniform(i ^ 0xC01D) % lists[0].count();
            let wanted = sorted[number as usize].as_bytes();
            let (before, start) = (read_bytes(), Instant::now());
            if is_name {
                lists[0].name(number, &mut name)?;
            } else {
                lists[0].find(wanted)?;
            }
            times.push(start.elapsed().as_nanos() as u32);
            read.push(read_bytes() - before);
        }
        read.sort_unstable();
        times.sort_unstable();
        println!(
            "cold, {}: {:.1} KiB read on average, at most {}; p50 {:.0}, p99 {:.0} us",
            if is_name { "name of a number" } else { "number of a name" },
            read.iter().sum::<u64>() as f64 / COLD_LOOKUPS as f64 / 1024.0,
            read[read.len() - 1] / 1024,
            percentile(&times, 0.5),
            percentile(&times, 0.99)
        );
    }
    Ok(())
}

const NUMBERS: TableDefinition<'static, &str, u64> = TableDefinition::new("numbers");
const NAMES: TableDefinition<'static, u64, &str> = TableDefinition::new("names");

fn redb(directory: &Path, names: &[&str]) -> Result<()> {
    let path = directory.join("names.redb");
    let database = redb::Database::builder().set_cache_size(4 << 30).create(&path)?;
    let start = Instant::now();
    for (place, part) in names.chunks(100_000).enumerate() {
        let mut transaction = database.begin_write()?;
        transaction.set_durability(Durability::None)?;
        {
            let mut numbers = transaction.open_table(NUMBERS)?;
            let mut texts = transaction.open_table(NAMES)?;
            for (i, name) in part.iter().enumerate() {
                let number = (place * 100_000 + i) as u64;
                numbers.insert(name, number)?;
                texts.insert(number, name)?;
            }
        }
        transaction.commit()?;
    }
    database.begin_write()?.commit()?;
    let rate = names.len() as f64 / start.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(&path)?.len() as f64 / names.len() as f64;
    println!("redb, both ways: {rate:.0} names per second, {bytes:.1} bytes per name");
    let transaction = database.begin_read()?;
    let (numbers, texts) = (transaction.open_table(NUMBERS)?, transaction.open_table(NAMES)?);
    let any = |i: u64| uniform(i) % names.len() as u64;
    let wanted = Names::of(names, (0..LOOKUPS).map(any));
    timed("redb, name of a number", LOOKUPS, |i| {
        let found = texts.get(any(i))?.ok_or("no name")?;
        if found.value() == wanted.get(i) { Ok(()) } else { Err("another name".into()) }
    })?;
    timed("redb, number of a name", LOOKUPS, |i| {
        let found = numbers.get(wanted.get(i))?.ok_or("no number")?;
        if found.value() == any(i) { Ok(()) } else { Err("another number".into()) }
    })
}

/// Insertions, a thousand at a time.
fn living(options: &Options, directory: &Path, names: &[&str]) -> Result<()> {
    let count = names.len() as u64;
    let numbers: Vec<u64> = (0..count).collect();
    for kind in [IdKind::Number, IdKind::Text] {
        let path = directory.join(format!("living {kind}"));
        let writer = options.common.options().ids(kind).create(&path)?;
        let start = Instant::now();
        for (place, part) in numbers.chunks(1000).enumerate() {
            if kind == IdKind::Number {
                let pairs: Vec<_> = part.iter().map(|&i| (uniform(i), i)).collect();
                writer.insert_batch(&pairs)?;
            } else {
                let names = &names[1000 * place..];
                let pairs: Vec<_> =
                    part.iter().zip(names).map(|(&i, name)| (uniform(i), *name)).collect();
                writer.insert_batch(&pairs)?;
            }
        }
        writer.commit(fpstore::Durability::Immediate)?;
        let inserted = count as f64 / start.elapsed().as_secs_f64();
        let start = Instant::now();
        writer.merge_all()?;
        let merged = count as f64 / start.elapsed().as_secs_f64();
        println!("insert, {kind}: {inserted:.0} per second; the last merge of all {merged:.0}");
    }
    Ok(())
}
