//! Searches a second from C, through the shared library, to those of the Rust library: the same
//! queries on the same store, in turns, in one run.
//!
//! `cargo bench -p fpstore-capi`; with `-- --test` a small set, whose answers are compared.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::time::Instant;

use fpstore::{Design, Layout, OpenOptions, Packer, Searcher};

#[path = "../tests/capi/built.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod built;

const K: u32 = 3;
const ROUNDS: usize = 15;

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

type OpenSearcher = unsafe extern "C" fn(*const c_char, i64) -> *mut c_void;
type SearchAll = unsafe extern "C" fn(*mut c_void, *const u8, usize, u32) -> u64;
type CloseSearcher = unsafe extern "C" fn(*mut c_void);

/// The functions of `loop.c`.
struct InC {
    open: OpenSearcher,
    search: SearchAll,
    close: CloseSearcher,
}

impl InC {
    fn load() -> Self {
        let library = built::prefix().join("lib");
        let path = format!("-Wl,-rpath,{}", library.display());
        let shared =
            built::compile("benches/loop.c", "loop.so", &["-O2", "-shared", "-fPIC", &path]);
        let shared = CString::new(shared.as_os_str().as_bytes()).unwrap();
        // RTLD_NOW
        // SAFETY: the library has no constructors.
        let shared = unsafe { dlopen(shared.as_ptr(), 2) };
        assert!(!shared.is_null());
        // SAFETY: the types are those in `loop.c`.
        unsafe {
            let of = |name: &CStr| dlsym(shared, name.as_ptr());
            Self {
                open: std::mem::transmute::<*mut c_void, OpenSearcher>(of(c"open_searcher")),
                search: std::mem::transmute::<*mut c_void, SearchAll>(of(c"search_all")),
                close: std::mem::transmute::<*mut c_void, CloseSearcher>(of(c"close_searcher")),
            }
        }
    }
}

fn word(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 29)
}

/// A third of the queries are stored, a third have two bits flipped, a third are random.
fn query(number: u64, count: u64) -> u64 {
    let stored = word(word(number) % count);
    match number % 3 {
        0 => stored,
        1 => stored ^ 1 << (number % 64) ^ 1 << (number * 7 % 64),
        _ => !word(number + (1 << 40)),
    }
}

fn in_rust(searcher: &mut Searcher, queries: &[u64]) -> u64 {
    let mut sum = 0;
    for &query in queries {
        let found = searcher.search(query, K).unwrap();
        sum += (found.len() as u64) << 32;
        sum += found.iter().take(16).map(|found| u64::from(found.distance)).sum::<u64>();
    }
    sum
}

/// Nanoseconds of each of so many searches.
fn timed(searches: usize, run: impl FnOnce() -> u64, expected: u64) -> f64 {
    let start = Instant::now();
    assert_eq!(run(), expected);
    start.elapsed().as_nanos() as f64 / searches as f64
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// With so many bytes for what searches build to be faster, or as many as a store takes by itself.
fn measure(c: &InC, path: &Path, memory: Option<u64>, queries: &[u64], rounds: usize) {
    let name = path.file_name().unwrap().display();
    let name = format!("{name}{}", if memory.is_some() { ", no hot index" } else { "" });
    let bytes: Vec<u8> = queries.iter().flat_map(|query| query.to_be_bytes()).collect();
    let options = OpenOptions::new();
    let options = memory.map_or(options, |memory| options.memory(memory));
    let in_c = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path lives.
    let open = || unsafe { (c.open)(in_c.as_ptr(), memory.map_or(-1, |memory| memory as i64)) };
    let mut times = [Vec::new(), Vec::new()];
    // What is built first may lie in larger pages, so each of them is once.
    for is_c_first in [false, true] {
        let first = if is_c_first { open() } else { null_mut() };
        assert_eq!(first.is_null(), !is_c_first);
        for _ in 0..if is_c_first { 4 } else { 0 } {
            // SAFETY: the queries live.
            assert_ne!(unsafe { (c.search)(first, bytes.as_ptr(), queries.len(), K) }, u64::MAX);
        }
        let mut searcher = options.open(path).unwrap().searcher();
        // Hot indexes are built by searches, in each library its own.
        let expected = in_rust(&mut searcher, queries);
        (0..3).for_each(|_| assert_eq!(in_rust(&mut searcher, queries), expected));
        let own = if is_c_first { first } else { open() };
        assert!(!own.is_null());
        // SAFETY: as above.
        let through_c = || unsafe { (c.search)(own, bytes.as_ptr(), queries.len(), K) };
        (0..4).for_each(|_| assert_eq!(through_c(), expected));
        for _ in 0..rounds {
            times[0].push(timed(queries.len(), || in_rust(&mut searcher, queries), expected));
            times[1].push(timed(queries.len(), through_c, expected));
        }
        // SAFETY: nobody uses it any more.
        unsafe { (c.close)(own) };
    }
    let ratios: Vec<f64> = times[0].iter().zip(&times[1]).map(|(rust, c)| rust / c).collect();
    let of_order = |order: usize| median(ratios[order * rounds..][..rounds].to_vec());
    let (rust_first, c_first) = (of_order(0), of_order(1));
    let [rust, in_c] = times.map(median);
    println!(
        "{name:24} Rust {rust:8.1} ns, C {in_c:8.1} ns a search; calls a second, C to Rust: {:.3} \
         (Rust first {rust_first:.3}, C first {c_first:.3})",
        (rust_first * c_first).sqrt()
    );
}

fn main() {
    let is_test = env::args().any(|argument| argument == "--test");
    let (count, searches, rounds) =
        if is_test { (2_000, 100, 1) } else { (1_000_000, 50_000, ROUNDS) };
    let c = InC::load();
    let directory = tempfile::tempdir().unwrap();
    let queries: Vec<u64> = (0..searches as u64).map(|number| query(number, count)).collect();
    for name in ["quarters", "halves", "single"] {
        let path = directory.path().join(name);
        let design = Design::named(name).unwrap();
        Packer::new()
            .layout(Layout::new().design(design))
            .pack(&path, (0..count).map(word))
            .unwrap();
        measure(&c, &path, None, &queries, rounds);
        // Tables and blocks, which take longer.
        measure(&c, &path, Some(0), &queries[..searches / 10], rounds);
    }
}
