//! Checks every byte of a names file.

use super::cursor::Walk;
use super::reader::NameColumn;
use crate::error::{Corruption, Error, Result};
use crate::format::PAGE_NAMES;
use crate::id::IdKind;
use crate::tasks;

/// Pages that are checked before their results are put together.
const PAGES_AT_ONCE: u64 = 1 << 10;

/// What is left of a page that was checked.
struct Checked {
    name_bytes: u64,
    last_name: Vec<u8>,
    /// The first error, and whether it is one of the page as a whole or of its first group, which
    /// come before what is said of its first name.
    error: Option<(Error, bool)>,
}

impl NameColumn {
    /// Checks all that opening the file did not, with the threads of the current pool: each page,
    /// that all names ascend, how many bytes they have, and that each is of a kind.
    pub(crate) fn verify(&self, kind: Option<IdKind>) -> Result<()> {
        let pages = self.header.page_count();
        let (mut name_bytes, mut before) = (0, None);
        for start in (0..pages).step_by(PAGES_AT_ONCE as usize) {
            let some = start..pages.min(start + PAGES_AT_ONCE);
            let checked = tasks::map(some.clone(), |page| self.verify_page(page, kind));
            for (page, checked) in some.zip(checked) {
                let Checked { name_bytes: bytes, last_name, error } = checked;
                if !matches!(error, Some((_, true))) {
                    self.verify_first(page, before.as_deref())?;
                }
                if let Some((error, _)) = error {
                    return Err(error);
                }
                name_bytes += bytes;
                before = Some(last_name);
            }
        }
        self.check_name_bytes(name_bytes)
    }

    /// Checks that the first name of a page is greater than the last one of the page before.
    fn verify_first(&self, page: u64, before: Option<&[u8]>) -> Result<()> {
        let first = self.first_name(page)?;
        if before.is_some_and(|before| first <= before) {
            let corruption = Corruption::NamesOrder { name: page * PAGE_NAMES };
            return Err(self.error(self.page(page)?.bytes.start, corruption));
        }
        Ok(())
    }

    fn verify_page(&self, page: u64, kind: Option<IdKind>) -> Checked {
        let mut walk = Walk::over(page..page + 1, self);
        let (mut name_bytes, mut number) = (0, page * PAGE_NAMES);
        let mut is_before_first = true;
        let mut next = || {
            let Some(name) = walk.next(self)? else { return Ok(false) };
            is_before_first = false;
            name_bytes += name.len() as u64;
            if let Some(kind) = kind {
                self.check_kind(number, name, kind)?;
            }
            number += 1;
            Ok(true)
        };
        let error = loop {
            match next() {
                Ok(true) => {}
                Ok(false) => break None,
                Err(error) => break Some(error),
            }
        };
        let error = error.map(|error| (error, is_before_first));
        Checked { name_bytes, last_name: walk.into_name(), error }
    }
}
