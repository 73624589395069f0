//! Whether a pack fits: free space where it writes, and memory.

use std::fs;
use std::path::{Path, PathBuf};

use fpstore::machine;

use crate::units;

/// What a pack needs, and what there is of it.
#[derive(Default)]
pub(super) struct Room {
    /// Each file system that is written to.
    disks: Vec<Disk>,
    memory_needed: u64,
    memory_free: Option<u64>,
}

/// A file system.
struct Disk {
    /// Where it is written to.
    place: PathBuf,
    /// Its number; `None` where the system does not tell, which then is one of its own.
    device: Option<u64>,
    needed: u64,
    free: Option<u64>,
}

impl Room {
    /// Room for so many bytes of memory.
    pub(super) fn new(memory_needed: u64) -> Self {
        Self { memory_needed, memory_free: machine::free_bytes(), disks: Vec::new() }
    }

    /// With so many more bytes in the directory `place`, or where that is to be created.
    pub(super) fn on_disk(mut self, place: &Path, bytes: u64) -> Self {
        let place = existing(place);
        let device = device(&place);
        match self.disks.iter_mut().find(|disk| device.is_some() && disk.device == device) {
            Some(disk) => disk.needed = disk.needed.saturating_add(bytes),
            None if bytes == 0 => {}
            None => self.disks.push(Disk { free: free(&place), place, device, needed: bytes }),
        }
        self
    }

    /// Whether all of it fits, as far as that is known.
    pub(super) fn fits(&self) -> bool {
        self.faults().is_empty()
    }

    /// The least that is free on a disk in use.
    pub(super) fn disk_free(&self) -> Option<u64> {
        self.disks.iter().filter_map(|disk| disk.free).min()
    }

    /// The memory that is free.
    pub(super) fn memory_free(&self) -> Option<u64> {
        self.memory_free
    }

    /// What does not fit, and what to do about it.
    pub(super) fn faults(&self) -> Vec<String> {
        let bytes = |bytes: u64| units::bytes(bytes as f64);
        let disks = self.disks.iter().filter_map(|disk| {
            let free = disk.free.filter(|&free| free < disk.needed)?;
            Some(format!(
                "{} needs {} at the peak, and {} are free; free some, or name another place",
                disk.place.display(),
                bytes(disk.needed),
                bytes(free)
            ))
        });
        let memory = self.memory_free.filter(|&free| free < self.memory_needed).map(|free| {
            let needed = bytes(self.memory_needed);
            format!("it takes {needed} of memory, and {} are free; give less --memory", bytes(free))
        });
        disks.chain(memory).collect()
    }
}

/// The nearest directory around `path` that is there.
fn existing(path: &Path) -> PathBuf {
    let there = path.ancestors().find(|path| fs::metadata(path).is_ok());
    // A relative path ends in an empty one.
    there.map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

#[cfg(unix)]
fn device(place: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    Some(fs::metadata(place).ok()?.dev())
}

#[cfg(unix)]
fn free(place: &Path) -> Option<u64> {
    let system = rustix::fs::statvfs(place).ok()?;
    system.f_bavail.checked_mul(system.f_frsize)
}

/// Elsewhere it is not known.
#[cfg(not(unix))]
fn device(_place: &Path) -> Option<u64> {
    None
}

#[cfg(not(unix))]
fn free(_place: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_one_file_system_counts_together() {
        let place = tempfile::tempdir().unwrap();
        let (one, other) = (place.path().join("a/b"), place.path().join("c"));
        let room = Room::new(1).on_disk(&one, 5).on_disk(&other, 7);
        assert_eq!(room.disks.len(), 1);
        assert_eq!((room.disks[0].needed, room.fits()), (12, true));
        assert!(room.disk_free().is_some_and(|free| free > 12));
    }

    #[test]
    fn what_does_not_fit_is_named_with_what_to_do() {
        let place = tempfile::tempdir().unwrap();
        let room = Room { memory_needed: 3 << 30, memory_free: Some(2 << 30), disks: Vec::new() };
        let room = room.on_disk(place.path(), u64::MAX / 2);
        let faults = room.faults();
        let path = place.path().display().to_string();
        assert!(faults[0].starts_with(&path) && faults[0].contains("are free"), "{faults:?}");
        assert_eq!(
            faults[1],
            "it takes 3.00 GiB of memory, and 2.00 GiB are free; give less --memory"
        );
    }
}
