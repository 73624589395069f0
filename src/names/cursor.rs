//! All names of a file in order.

use std::ops::Range;
use std::sync::Arc;

use super::list::{Lengths, List, shared};
use super::reader::{NameColumn, Page};
use crate::error::{Corruption, Result};
use crate::format::{GROUP_NAMES, PAGE_NAME_GROUPS, PAGE_NAMES};

/// Bytes behind the page at hand that are asked for ahead.
const AHEAD_BYTES: usize = 2 << 20;

/// Gives the names of a file one after the other, and checks them: all rules but [NAM-11] and
/// [NAM-12]. Memory: two names, and the lengths of two lists, some KiB.
pub(crate) struct NameCursor {
    column: Arc<NameColumn>,
    walk: Walk,
}

/// A place in the names of a file.
pub(super) struct Walk {
    /// Number of the next name.
    next: u64,
    /// Behind the last name that is wanted.
    end: u64,
    page: Option<Page>,
    heads: (usize, Box<List>),
    group: (usize, Box<List>),
    head: Vec<u8>,
    name: Vec<u8>,
    /// Length of its longest common prefix with the name before it.
    same: usize,
    /// The bytes before this one were asked for.
    asked: usize,
}

impl NameColumn {
    /// All names in order.
    pub(crate) fn cursor(self: &Arc<Self>) -> NameCursor {
        let walk = Walk::over(0..self.header.page_count(), self);
        NameCursor { column: Arc::clone(self), walk }
    }
}

impl NameCursor {
    /// The next name. After an error the cursor is not to be used any more.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        self.walk.next(&self.column)
    }

    /// The name that was given last.
    pub(crate) fn name(&self) -> &[u8] {
        &self.walk.name
    }

    /// Length of its longest common prefix with the name before it.
    pub(crate) fn same(&self) -> usize {
        self.walk.same
    }
}

impl Walk {
    /// Over the names of some pages.
    pub(super) fn over(pages: Range<u64>, column: &NameColumn) -> Self {
        Self {
            next: pages.start * PAGE_NAMES,
            end: column.len().min(pages.end * PAGE_NAMES),
            page: None,
            heads: (0, Box::new(List::empty())),
            group: (0, Box::new(List::empty())),
            head: Vec::new(),
            name: Vec::new(),
            same: 0,
            asked: 0,
        }
    }

    /// The last name that was given.
    pub(super) fn into_name(self) -> Vec<u8> {
        self.name
    }

    pub(super) fn next(&mut self, column: &NameColumn) -> Result<Option<&[u8]>> {
        let number = self.next;
        if number >= self.end {
            return Ok(None);
        }
        let source = (&column.decoder, &column.bytes[..]);
        let place = (number % GROUP_NAMES) as usize;
        if place > 0 {
            let (at, list) = &self.group;
            let advanced = list.advance(source, place - 1, &mut self.name);
            self.same = advanced.map_err(|corruption| column.error(*at, corruption))?;
        } else {
            self.start_group(number, column)?;
        }
        self.next += 1;
        Ok(Some(&self.name))
    }

    /// Reads a group up to its first name.
    fn start_group(&mut self, number: u64, column: &NameColumn) -> Result<()> {
        let is_first = self.page.is_none();
        let group = (number / GROUP_NAMES % PAGE_NAME_GROUPS) as usize;
        let page = match self.page.take() {
            Some(page) if group > 0 => page,
            _ => {
                let page = column.page(number / PAGE_NAMES)?;
                // The second half is on its way while the first one is read.
                if page.bytes.end + AHEAD_BYTES / 2 > self.asked {
                    let start = page.bytes.start.max(self.asked);
                    self.asked = page.bytes.end + AHEAD_BYTES;
                    column.bytes.will_need(start..self.asked.min(column.bytes.len()));
                }
                self.heads.0 = read(&mut self.heads.1, column.head_lengths(&page)?, column)?;
                page
            }
        };
        self.group.0 = read(&mut self.group.1, column.group_lengths(&page, group)?, column)?;
        let at = match group.checked_sub(1) {
            Some(place) => {
                let (at, list) = &self.heads;
                let source = (&column.decoder, &column.bytes[..]);
                let advanced = list.advance(source, place, &mut self.head);
                advanced.map_err(|corruption| column.error(*at, corruption))?;
                *at
            }
            None => {
                self.head.clear();
                self.head.extend_from_slice(column.first_name(page.number)?);
                page.bytes.start
            }
        };
        // It follows the last name of the group before.
        if !is_first && self.head <= self.name {
            return Err(column.error(at, Corruption::NamesOrder { name: number }));
        }
        self.same = shared(&self.name, &self.head);
        self.name.truncate(self.same);
        self.name.extend_from_slice(&self.head[self.same..]);
        self.page = Some(page);
        Ok(())
    }
}

/// Reads and checks the lengths of a list; gives where it stands.
fn read(
    list: &mut List,
    (at, lengths): (usize, Lengths<'_>),
    column: &NameColumn,
) -> Result<usize> {
    let taken = list.take_all(lengths, &column.bytes);
    taken.map(|()| at).map_err(|corruption| column.error(at, corruption))
}
