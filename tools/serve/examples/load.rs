//! Asks a server on this machine as many clients do, and tells how long that takes.
//!
//! ```text
//! load make PATH COUNT                 packs COUNT uniform fingerprints of 256 bits, for k = 31
//! load ask PORT STORE COUNT CONNECTIONS SECONDS [INSERTS]
//!                                      searches, each connection one after the other; beside
//!                                      them so many inserts a second, each acknowledged from
//!                                      the disk
//! load batch PORT STORE COUNT PATH     batches of 10,000 in Arrow, and the same by the library
//! load idle PORT CONNECTIONS SECONDS   connections that ask nothing
//! ```
//!
//! It sends to 127.0.0.1 alone. Half of the queries have a stored one within 31 bits, which must be
//! in the answer.

#![allow(clippy::print_stdout, reason = "it is there to tell")]

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, FixedSizeBinaryArray, RecordBatch};
use fpstore::{Fingerprint, Hex, Layout, OpenOptions, Packer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const K: u32 = 31;

fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Fingerprint of this number.
fn stored(number: u64) -> [u64; 4] {
    [1, 2, 3, 4].map(|word| mix(number * 4 + word))
}

/// A query, and the one that is near it, if there is one.
fn query(number: u64, count: u64) -> ([u64; 4], Option<[u64; 4]>) {
    if number % 2 == 1 {
        return ([5, 6, 7, 8].map(|word| mix(!(number * 8 + word))), None);
    }
    let near = stored(mix(number) % count);
    let mut query = near;
    for flip in 0..mix(number + 1) % 32 {
        let bit = mix(number * 64 + flip) % 256;
        query[bit as usize / 64] ^= 1 << (bit % 64);
    }
    (query, Some(near))
}

/// Sends a request, and gives the body of the answer.
async fn ask(stream: &mut TcpStream, path: &str, kind: &str, body: &[u8]) -> Outcome<Vec<u8>> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).await?;
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let read = stream.read(&mut piece).await?;
        if read == 0 {
            return Err("the connection ended".into());
        }
        bytes.extend_from_slice(&piece[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let whole = end + 4 + length.ok_or("no length")?.trim().parse::<usize>()?;
        if bytes.len() < whole {
            bytes.reserve(whole - bytes.len());
            while bytes.len() < whole {
                let read = stream.read(&mut piece).await?;
                bytes.extend_from_slice(&piece[..read]);
                if read == 0 {
                    return Err("the connection ended".into());
                }
            }
        }
        if !head.starts_with("http/1.1 200") {
            return Err(String::from_utf8_lossy(&bytes).into_owned().into());
        }
        return Ok(bytes.split_off(end + 4));
    }
}

async fn connect(port: u16) -> Outcome<TcpStream> {
    let stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn tell(what: &str, mut times: Vec<Duration>, seconds: f64) {
    times.sort_unstable();
    let at = |part: f64| {
        let place = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
        times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    println!(
        "{what}: {:.0}/s, p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, most {:.2} ms, {} in all",
        times.len() as f64 / seconds,
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
        times.len()
    );
}

async fn search(
    port: u16,
    store: String,
    count: u64,
    next: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
) -> Outcome<Vec<Duration>> {
    let mut stream = connect(port).await?;
    let path = format!("/v1/stores/{store}/search");
    let mut times = Vec::new();
    while !stop.load(Relaxed) {
        let (query, near) = query(next.fetch_add(1, Relaxed), count);
        let body = format!("{{\"fingerprint\":\"{}\",\"k\":{K}}}", Hex::of(query));
        let begun = Instant::now();
        let answer = ask(&mut stream, &path, "application/json", body.as_bytes()).await?;
        times.push(begun.elapsed());
        if let Some(near) = near {
            let text = String::from_utf8_lossy(&answer);
            if !text.contains(&Hex::of(near).to_string()) {
                return Err(format!("{} is missing in {text}", Hex::of(near)).into());
            }
        }
    }
    Ok(times)
}

/// One of several who insert, every so often.
async fn insert(
    port: u16,
    store: String,
    first: u64,
    pause: Duration,
    stop: Arc<AtomicBool>,
) -> Outcome<Vec<Duration>> {
    let mut stream = connect(port).await?;
    let path = format!("/v1/stores/{store}/insert");
    let (mut times, mut number) = (Vec::new(), first);
    let mut due = Instant::now();
    while !stop.load(Relaxed) {
        let one = stored(u64::MAX / 8 + number);
        let body = format!("{{\"records\":[{{\"fingerprint\":\"{}\"}}]}}", Hex::of(one));
        let begun = Instant::now();
        ask(&mut stream, &path, "application/json", body.as_bytes()).await?;
        times.push(begun.elapsed());
        number += 1;
        due += pause;
        tokio::time::sleep_until(due.into()).await;
    }
    Ok(times)
}

async fn run(port: u16, store: &str, numbers: [u64; 4]) -> Outcome<()> {
    let [count, connections, seconds, inserts] = numbers;
    let (next, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let begun = Instant::now();
    let searches: Vec<_> = (0..connections)
        .map(|_| {
            let (next, stop) = (Arc::clone(&next), Arc::clone(&stop));
            tokio::spawn(search(port, store.to_string(), count, next, stop))
        })
        .collect();
    let writers = inserts.min(20);
    let epoch = std::time::SystemTime::UNIX_EPOCH.elapsed()?.as_millis() as u64;
    let inserting: Vec<_> = (0..writers)
        .map(|writer| {
            let pause = Duration::from_secs_f64(writers as f64 / inserts as f64);
            let first = (epoch * 32 + writer) << 16;
            tokio::spawn(insert(port, store.to_string(), first, pause, Arc::clone(&stop)))
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    stop.store(true, Relaxed);
    let seconds = begun.elapsed().as_secs_f64();
    for (what, tasks) in [("searches", searches), ("inserts", inserting)] {
        let mut times = Vec::new();
        for task in tasks {
            times.extend(task.await??);
        }
        if !times.is_empty() {
            tell(&format!("{connections} connections, {what}"), times, seconds);
        }
    }
    Ok(())
}

async fn batch(port: u16, store: &str, count: u64, path: &str) -> Outcome<()> {
    let queries: Vec<[u64; 4]> = (0..10_000).map(|number| query(number, count).0).collect();
    let bytes = queries.iter().map(|query| query.to_be_bytes());
    let column: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter(bytes)?);
    let rows = RecordBatch::try_from_iter([("fingerprint", column)])?;
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &rows.schema())?;
    writer.write(&rows)?;
    writer.finish()?;
    let body = writer.into_inner()?;
    let opened = OpenOptions::new().width::<[u64; 4]>().open(path)?;
    let mut stream = connect(port).await?;
    let path = format!("/v1/stores/{store}/search-batch?k={K}");
    let (mut served, mut own) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        let begun = Instant::now();
        let mut matches = 0;
        opened.batch(K).run(&queries, |answer| matches += answer.matches.len())?;
        own.push(begun.elapsed());
        let begun = Instant::now();
        let kind = "application/vnd.apache.arrow.stream";
        let answer = ask(&mut stream, &path, kind, &body).await?;
        served.push(begun.elapsed());
        let answer = arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(answer), None)?;
        let rows: usize = answer.map(|rows| rows.map_or(0, |rows| rows.num_rows())).sum();
        if rows != matches {
            return Err(format!("{rows} matches, and {matches} by the library").into());
        }
    }
    served.sort_unstable();
    own.sort_unstable();
    let (served, own) = (served[3].as_secs_f64(), own[3].as_secs_f64());
    println!(
        "10,000 queries: {served:.3} s served, {own:.3} s by the library: {:.3}",
        served / own
    );
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| -> Outcome<u64> {
        Ok(arguments.get(place).map(String::as_str).unwrap_or("0").parse()?)
    };
    let text = |place: usize| arguments.get(place).map(String::as_str).unwrap_or_default();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    match text(0) {
        "make" => {
            let all = (0..number(2)?).map(stored);
            let packed =
                Packer::new().width::<[u64; 4]>().layout(Layout::new().k(K)).pack(text(1), all)?;
            println!("{packed:?}");
            Ok(())
        }
        "ask" => {
            let numbers = [number(3)?, number(4)?, number(5)?, number(6)?];
            runtime.block_on(run(number(1)? as u16, text(2), numbers))
        }
        "batch" => runtime.block_on(batch(number(1)? as u16, text(2), number(3)?, text(4))),
        "idle" => runtime.block_on(async {
            let mut open = Vec::new();
            for _ in 0..number(2)? {
                open.push(connect(number(1)? as u16).await?);
            }
            println!("{} connections are open", open.len());
            tokio::time::sleep(Duration::from_secs(number(3)?)).await;
            Ok(())
        }),
        other => Err(format!("{other:?}: make, ask, batch or idle").into()),
    }
}
