//! Temporary files of tests.

use std::sync::Mutex;

use super::Spill;
use crate::error::Result;

/// A temporary file in memory.
#[derive(Default)]
pub(crate) struct Memory(Mutex<Vec<u8>>);

impl Spill for Memory {
    fn write_at(&self, bytes: &[u8], at: u64) -> Result<()> {
        let mut file = self.0.lock().unwrap();
        let end = at as usize + bytes.len();
        if file.len() < end {
            file.resize(end, 0xEE);
        }
        file[at as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        bytes.copy_from_slice(&self.0.lock().unwrap()[at as usize..][..bytes.len()]);
        Ok(())
    }
}
