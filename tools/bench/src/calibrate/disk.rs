//! Measures reads past the page cache.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use fpstore::internals::DiskCosts;

use super::uniform::fingerprint;

/// Bytes of the file that is read from the disk.
const FILE_BYTES: usize = 64 << 20;
/// Reads of one page.
const PAGE_READS: usize = 200;

/// Measures a read of one page from the disk, and each byte of a long read, with a file at `path`,
/// which is left there.
pub(super) fn measure(path: &Path, costs: &mut DiskCosts) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    // Bytes that no disk compresses.
    let chunk: Vec<u8> = (0..1 << 17).flat_map(|i| fingerprint(i).to_le_bytes()).collect();
    (0..FILE_BYTES / chunk.len()).try_for_each(|_| file.write_all(&chunk))?;
    file.sync_all()?;
    drop(file);
    let mut reader = DirectReader::open(path, chunk.len())?;
    let start = Instant::now();
    for i in 0..PAGE_READS as u64 {
        let page = fingerprint(i) % (FILE_BYTES as u64 / 4096);
        reader.read(4096 * page, 4096)?;
    }
    let page = start.elapsed().as_nanos() as f64 / PAGE_READS as f64;
    let start = Instant::now();
    let long = FILE_BYTES / 2 / chunk.len();
    (0..long).try_for_each(|i| reader.read((i * chunk.len()) as u64, chunk.len()))?;
    let byte = start.elapsed().as_nanos() as f64 / (long * chunk.len()) as f64;
    costs.read_ns = (page - 4096.0 * byte).max(0.0);
    costs.byte_ns = byte;
    Ok(())
}

/// Reads a file past the page cache.
struct DirectReader {
    file: File,
    buffer: Vec<u8>,
    /// Where the aligned part of the buffer begins.
    aligned_at: usize,
}

impl DirectReader {
    fn open(path: &Path, longest: usize) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true);
        direct(&mut options)?;
        let buffer = vec![0u8; longest + 4096];
        let aligned_at = buffer.as_ptr().align_offset(4096);
        Ok(Self { file: options.open(path)?, buffer, aligned_at })
    }

    #[cfg(unix)]
    fn read(&mut self, at: u64, bytes: usize) -> std::io::Result<()> {
        use std::os::unix::fs::FileExt;
        let buffer = &mut self.buffer[self.aligned_at..][..bytes];
        self.file.read_exact_at(buffer, at)?;
        black_box(buffer);
        Ok(())
    }

    #[cfg(not(unix))]
    fn read(&mut self, _at: u64, _bytes: usize) -> std::io::Result<()> {
        let _ = (&self.file, &self.buffer, self.aligned_at);
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "riscv64")))]
fn direct(options: &mut OpenOptions) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    // O_DIRECT of these architectures.
    options.custom_flags(0o40_000);
    Ok(())
}

#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
fn direct(options: &mut OpenOptions) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    // O_DIRECT of this architecture.
    options.custom_flags(0o200_000);
    Ok(())
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "riscv64", target_arch = "aarch64")
)))]
fn direct(_options: &mut OpenOptions) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
