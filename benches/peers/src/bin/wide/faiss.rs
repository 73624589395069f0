//! Runs FAISS on the same fingerprints and queries.

use std::fs;
use std::path::Path;
use std::process::Command;

use fpstore::Fingerprint;

use crate::Result;

const SCRIPT: &str = include_str!("faiss.py");

/// Writes what FAISS is to search.
fn write<F: Fingerprint>(path: &Path, list: &[F]) -> Result<()> {
    let mut bytes = Vec::with_capacity(list.len() * F::BITS as usize / 8);
    list.iter().for_each(|one| bytes.extend_from_slice(one.to_be_bytes().as_ref()));
    Ok(fs::write(path, bytes)?)
}

fn run<F: Fingerprint>(
    python: &Path,
    directory: &Path,
    (set, queries): (&[F], &[F]),
    arguments: [String; 2],
) -> Result<()> {
    let base = directory.join("set.bin");
    if !base.exists() {
        write(&base, set)?;
    }
    write(&directory.join("queries.bin"), queries)?;
    let ran = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(directory)
        .arg(F::BITS.to_string())
        .args(arguments)
        .status()?;
    if ran.success() { Ok(()) } else { Err("FAISS has failed, or found something else".into()) }
}

/// Searches within `k`; the numbers of matches are to be these.
pub fn search<F: Fingerprint>(
    python: &Path,
    directory: &Path,
    data: (&[F], &[F]),
    k: u32,
    answers: &[usize],
) -> Result<()> {
    let text: Vec<String> = answers.iter().map(usize::to_string).collect();
    fs::write(directory.join("answers.txt"), text.join("\n"))?;
    run(python, directory, data, ["radius".to_string(), k.to_string()])
}

/// Looks for the nearest ones, whose distances are to be these.
pub fn nearest<F: Fingerprint>(
    python: &Path,
    directory: &Path,
    data: (&[F], &[F]),
    count: usize,
    answers: &[Vec<u32>],
) -> Result<()> {
    let line = |distances: &Vec<u32>| distances.iter().map(u32::to_string).collect::<Vec<_>>();
    let text: Vec<String> = answers.iter().map(|answer| line(answer).join(" ")).collect();
    fs::write(directory.join("answers.txt"), text.join("\n"))?;
    run(python, directory, data, ["nearest".to_string(), count.to_string()])
}
