//! What a directory in memory holds, and what a crash leaves of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The files of a directory.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Bytes that reach a disk together, or do not. Fewer than those of any disk, so that small files
/// have many.
const PAGE: usize = 64;

/// Files and names, as programs see them and as they are durable.
#[derive(Clone, Default)]
pub(crate) struct State {
    inodes: BTreeMap<u64, Arc<Inode>>,
    next_inode: u64,
    visible: BTreeMap<String, u64>,
    durable: BTreeMap<String, u64>,
    /// Of names, since they were synced.
    changes: Vec<Change>,
}

/// The bytes of a file.
#[derive(Clone, Default)]
struct Inode {
    visible: Arc<Vec<u8>>,
    durable: Arc<Vec<u8>>,
    /// Pages that the next sync writes.
    dirty: BTreeSet<usize>,
}

/// A name that goes, one that comes, or both at once.
#[derive(Clone)]
struct Change {
    from: Option<String>,
    to: Option<String>,
    inode: u64,
}

/// What a crash keeps of something that was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Nothing,
    /// Of bytes the first half; of names each with the other.
    Half,
    All,
    /// Of bytes any pages, or all up to any place; of names any.
    Some,
}

/// What a crash keeps of that which was not synced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Survives {
    /// The bytes of files.
    pub(crate) data: Kept,
    /// Names that were created or removed.
    pub(crate) names: Kept,
    pub(crate) renames: Kept,
    /// For [`Kept::Some`].
    pub(crate) seed: u64,
}

/// Numbers that look random (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}

impl Survives {
    /// Everything, or nothing, or half of it.
    pub(crate) fn all(kept: Kept) -> Self {
        Self { data: kept, names: kept, renames: kept, seed: 0 }
    }

    /// Anything, by a seed.
    pub(crate) fn some(seed: u64) -> Self {
        Self { seed, ..Self::all(Kept::Some) }
    }
}

impl Kept {
    fn of_change(self, random: &mut Random) -> bool {
        match self {
            Self::Nothing => false,
            Self::All => true,
            Self::Half | Self::Some => random.coin(),
        }
    }
}

impl Inode {
    /// The bytes that a sync would make durable.
    fn synced(&self) -> Arc<Vec<u8>> {
        let pages = self.visible.len().div_ceil(PAGE);
        if self.dirty.len() == pages {
            return Arc::clone(&self.visible);
        }
        Arc::new(self.with_pages(self.visible.len(), |page| self.dirty.contains(&page)))
    }

    /// Bytes of which these pages are as programs see them, and the others as they are durable.
    fn with_pages(&self, len: usize, mut is_new: impl FnMut(usize) -> bool) -> Vec<u8> {
        let mut bytes = vec![0; len];
        for (page, bytes) in bytes.chunks_mut(PAGE).enumerate() {
            let source = if is_new(page) { &self.visible } else { &self.durable };
            let source = source.get(page * PAGE..).unwrap_or_default();
            let common = source.len().min(bytes.len());
            bytes[..common].copy_from_slice(&source[..common]);
        }
        bytes
    }

    /// The bytes that were synced up to a place, and behind it those that were durable before.
    fn torn(&self, at: usize) -> Vec<u8> {
        let synced = self.synced();
        let mut bytes = synced[..at.min(synced.len())].to_vec();
        bytes.extend_from_slice(self.durable.get(bytes.len()..).unwrap_or_default());
        bytes
    }

    fn after_crash(&self, kept: Kept, random: &mut Random) -> Arc<Vec<u8>> {
        if self.dirty.is_empty() && self.visible.len() == self.durable.len() {
            return Arc::clone(&self.durable);
        }
        let (least, most) = (self.durable.len(), self.visible.len());
        match kept {
            Kept::Nothing => Arc::clone(&self.durable),
            Kept::All => self.synced(),
            Kept::Half => Arc::new(self.torn(least.midpoint(most))),
            Kept::Some => match random.below(5) {
                0 => Arc::clone(&self.durable),
                1 => self.synced(),
                2 => Arc::new(self.torn(random.below(most as u64 + 1) as usize)),
                _ => {
                    let len = [least, most][random.below(2) as usize];
                    let is_new = |page: usize| self.dirty.contains(&page) && random.coin();
                    Arc::new(self.with_pages(len, is_new))
                }
            },
        }
    }
}

impl State {
    /// These files, all durable.
    pub(crate) fn of(files: &Files) -> Self {
        let mut state = Self::default();
        for (name, bytes) in files {
            state.add(name.clone(), Arc::new(bytes.clone()));
        }
        state
    }

    fn add(&mut self, name: String, bytes: Arc<Vec<u8>>) {
        let inode =
            Inode { visible: Arc::clone(&bytes), durable: bytes, dirty: BTreeSet::default() };
        self.inodes.insert(self.next_inode, Arc::new(inode));
        self.visible.insert(name.clone(), self.next_inode);
        self.durable.insert(name, self.next_inode);
        self.next_inode += 1;
    }

    /// What a crash leaves.
    pub(crate) fn after_crash(&self, survives: Survives) -> Self {
        let mut random = Random::new(survives.seed);
        let mut names = self.durable.clone();
        for Change { from, to, inode } in &self.changes {
            let kept =
                if from.is_some() && to.is_some() { survives.renames } else { survives.names };
            if !kept.of_change(&mut random) {
                continue;
            }
            if let Some(from) = from.as_ref().filter(|from| names.get(*from) == Some(inode)) {
                names.remove(from);
            }
            if let Some(to) = to {
                names.insert(to.clone(), *inode);
            }
        }
        let mut state = Self::default();
        for (name, inode) in names {
            let bytes = self.inodes[&inode].after_crash(survives.data, &mut random);
            state.add(name, bytes);
        }
        state
    }

    /// The same once the system has forgotten what it failed to sync, which it need not keep in
    /// memory.
    pub(crate) fn evicted(mut self) -> Self {
        for inode in self.inodes.values_mut() {
            let visible = inode.synced();
            Arc::make_mut(inode).visible = visible;
        }
        self
    }

    /// The files as programs see them.
    pub(crate) fn files(&self) -> Files {
        let bytes = |inode: &u64| self.inodes[inode].visible.to_vec();
        self.visible.iter().map(|(name, inode)| (name.clone(), bytes(inode))).collect()
    }

    /// The names as programs see them.
    pub(crate) fn names(&self) -> Vec<String> {
        self.visible.keys().cloned().collect()
    }

    /// The bytes of a file as programs see them.
    pub(crate) fn bytes(&self, name: &str) -> Option<Arc<Vec<u8>>> {
        Some(Arc::clone(&self.inodes[self.visible.get(name)?].visible))
    }

    /// Creates a file that does not exist.
    pub(super) fn create(&mut self, name: &str) -> u64 {
        let inode = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(inode, Arc::default());
        self.visible.insert(name.to_string(), inode);
        self.changes.push(Change { from: None, to: Some(name.to_string()), inode });
        inode
    }

    /// The number of a file.
    pub(super) fn inode(&self, name: &str) -> Option<u64> {
        self.visible.get(name).copied()
    }

    /// Cuts a file.
    pub(super) fn cut(&mut self, inode: u64, len: usize) {
        let Some(file) = self.inodes.get_mut(&inode) else { return };
        let file = Arc::make_mut(file);
        if file.visible.len() > len {
            Arc::make_mut(&mut file.visible).truncate(len);
            file.dirty.retain(|page| page * PAGE < len);
        }
    }

    pub(super) fn write(&mut self, inode: u64, at: usize, bytes: &[u8]) {
        let Some(file) = self.inodes.get_mut(&inode).filter(|_| !bytes.is_empty()) else { return };
        let file = Arc::make_mut(file);
        let (visible, end) = (Arc::make_mut(&mut file.visible), at + bytes.len());
        visible.resize(visible.len().max(end), 0);
        visible[at..end].copy_from_slice(bytes);
        file.dirty.extend(at / PAGE..end.div_ceil(PAGE));
    }

    pub(super) fn sync(&mut self, inode: u64) {
        let Some(file) = self.inodes.get_mut(&inode) else { return };
        let file = Arc::make_mut(file);
        file.durable = file.synced();
        file.dirty.clear();
    }

    /// Drops bytes that could not be synced; with `forgets`, programs do not see them any more
    /// either.
    pub(super) fn give_up(&mut self, inode: u64, forgets: bool) {
        let Some(file) = self.inodes.get_mut(&inode) else { return };
        let file = Arc::make_mut(file);
        file.dirty.clear();
        if forgets {
            file.visible = Arc::clone(&file.durable);
        }
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> bool {
        let Some(inode) = self.visible.remove(from) else { return false };
        self.visible.insert(to.to_string(), inode);
        let (from, to) = (Some(from.to_string()), Some(to.to_string()));
        self.changes.push(Change { from, to, inode });
        true
    }

    pub(super) fn remove(&mut self, name: &str) -> bool {
        let Some(inode) = self.visible.remove(name) else { return false };
        self.changes.push(Change { from: Some(name.to_string()), to: None, inode });
        true
    }

    pub(super) fn sync_names(&mut self) {
        self.durable = self.visible.clone();
        self.changes.clear();
        let named: BTreeSet<u64> = self.durable.values().copied().collect();
        self.inodes.retain(|inode, _| named.contains(inode));
    }

    /// Changes a byte of a file, on the disk as well.
    pub(crate) fn flip(&mut self, name: &str, at: usize, mask: u8) {
        let Some(file) = self.visible.get(name).and_then(|inode| self.inodes.get_mut(inode)) else {
            return;
        };
        let file = Arc::make_mut(file);
        for bytes in [&mut file.visible, &mut file.durable] {
            if let Some(byte) = Arc::make_mut(bytes).get_mut(at) {
                *byte ^= mask;
            }
        }
    }
}
