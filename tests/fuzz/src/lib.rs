//! What the targets share.

#[path = "../../it/mend.rs"]
pub mod mend;
#[path = "../../it/probe.rs"]
pub mod probe;
#[path = "../../it/spec.rs"]
#[allow(dead_code)]
mod spec;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use mend::Files;
use tempfile::TempDir;

/// The stores of the vectors that are sound, in the order of their names.
pub fn stores() -> &'static [(String, Files)] {
    static STORES: OnceLock<Vec<(String, Files)>> = OnceLock::new();
    STORES.get_or_init(|| {
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format-spec/vectors");
        let entries = std::fs::read_dir(vectors).expect("the vectors are there");
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut stores: Vec<_> = paths
            .filter(|path| path.is_dir())
            .filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), path)))
            .filter(|(name, _)| name.starts_with("good-"))
            .map(|(name, path)| (name, probe::load(&path)))
            .collect();
        stores.sort_by(|one, other| one.0.cmp(&other.0));
        stores
    })
}

/// A directory of this process, in memory where the system has such a file system.
pub fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<TempDir> = OnceLock::new();
    let made = DIRECTORY.get_or_init(|| {
        let shared = PathBuf::from("/dev/shm");
        let parent = if shared.is_dir() { shared } else { std::env::temp_dir() };
        tempfile::tempdir_in(parent).expect("there is room for a directory")
    });
    made.path()
}

/// The bytes of an input as numbers; zeros behind its end.
pub struct Numbers<'a>(pub &'a [u8]);

impl Numbers<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    pub fn number(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }
}
