//! Writes logs.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{
    LOG_TEMPORARY, LogHeader, LogTag, LoggedOperation, RecordShape, log_name, note, push_record,
    push_seal,
};
use crate::storage::Storage;

/// Operations on their way into a log, which become one record: after a crash all of them are
/// there, or none.
pub(crate) struct Pending {
    first_sequence: u64,
    operations: u32,
    payload: Vec<u8>,
    /// Whether the log ends behind them.
    ends: bool,
}

impl Pending {
    /// None so far.
    pub(crate) fn new(first_sequence: u64) -> Self {
        Self { first_sequence, operations: 0, payload: Vec::new(), ends: false }
    }

    /// Adds operations.
    pub(crate) fn push<F: Fingerprint>(
        &mut self,
        operations: &[LoggedOperation<'_, F>],
        shape: RecordShape,
    ) {
        for operation in operations {
            operation.encode(shape, &mut self.payload);
        }
        self.operations += operations.len() as u32;
    }

    /// Ends the log behind them.
    pub(crate) fn end(&mut self) {
        self.ends = true;
    }

    /// Whether the log ends behind them.
    pub(crate) fn ends(&self) -> bool {
        self.ends
    }

    /// Bytes so far.
    pub(crate) fn bytes(&self) -> usize {
        self.payload.len()
    }

    fn next_sequence(&self) -> u64 {
        self.first_sequence + u64::from(self.operations)
    }
}

/// Makes durable the first `end` bytes of a log that was found, and cuts off what is behind. Who
/// wrote them may have been stopped before they were; or a sync of them has failed, and the next
/// one would not write what it gave up: so they are written again.
pub(crate) fn keep_log<S: Storage>(storage: &S, number: u64, end: u64) -> Result<()> {
    let name = log_name(number);
    let kept = || {
        let mut bytes = storage.bytes_from(&name, 0)?;
        bytes.truncate(end as usize);
        let mut file = storage.rewrite(&name, &bytes)?;
        storage.sync(&mut file)
    };
    storage.check_held()?;
    kept().map_err(Error::io(storage.path(&name), "write and sync the log"))
}

/// Creates a log with its header, in place of one that holds nothing: it never stands under its
/// name without. Its bytes are durable then, its name is not.
fn create_log<S: Storage>(storage: &S, name: &str, header: &[u8]) -> io::Result<S::File> {
    let mut file = match storage.create(LOG_TEMPORARY) {
        // From an attempt that failed.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            storage.rewrite(LOG_TEMPORARY, &[])
        }
        created => created,
    }?;
    file.write_all(header)?;
    storage.sync(&mut file)?;
    storage.rename(LOG_TEMPORARY, name)?;
    Ok(file)
}

/// Writes one log after the other.
///
/// What is not known to be durable is kept in memory, so that after a write or a sync that failed
/// all of it is written again: a system may drop bytes that it failed to sync, and say so once.
pub(crate) struct LogWriter<S: Storage> {
    storage: Arc<S>,
    store_id: u128,
    shape: RecordShape,
    number: u64,
    /// Where its first record begins.
    start: usize,
    /// The open log.
    file: Option<S::File>,
    /// Bytes of it that are durable.
    durable_bytes: u64,
    /// The bytes behind these, and how many of them were handed to the system.
    unsynced: Vec<u8>,
    written: usize,
    /// Whether its name is not durable yet.
    is_new: bool,
    /// Whether it has its end.
    is_sealed: bool,
    /// Whether a manifest must be durable before anything is written to the log.
    awaits_manifest: bool,
    /// What is to be written.
    queue: VecDeque<Pending>,
    /// The sequence behind the last operation that is among the bytes above, that was handed to the
    /// system, and that is durable.
    next_encoded: u64,
    next_written: u64,
    next_durable: u64,
    /// Bytes handed to the system so far.
    written_bytes: Arc<AtomicU64>,
}

impl<S: Storage> LogWriter<S> {
    /// Goes on behind the first `end` bytes of a log, which are durable, whose records begin at
    /// `start`, and whose next operation has this sequence. Creates it if there are none.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where the log cannot be created, or synced.
    pub(crate) fn resume(
        storage: Arc<S>,
        (tag, shape): (LogTag, RecordShape),
        (start, end): (usize, u64),
        next_sequence: u64,
    ) -> Result<Self> {
        let mut writer = Self {
            storage,
            store_id: tag.store_id,
            shape,
            number: tag.number,
            start,
            file: None,
            durable_bytes: end,
            unsynced: Vec::new(),
            written: 0,
            is_new: end == 0,
            is_sealed: false,
            awaits_manifest: false,
            queue: VecDeque::new(),
            next_encoded: next_sequence,
            next_written: next_sequence,
            next_durable: next_sequence,
            written_bytes: Arc::default(),
        };
        if end == 0 {
            writer.push_header();
            writer.sync()?;
        }
        Ok(writer)
    }

    /// The sequence behind the last operation that other processes can read.
    pub(crate) fn next_written(&self) -> u64 {
        self.next_written
    }

    /// The sequence behind the last operation that is durable.
    pub(crate) fn next_durable(&self) -> u64 {
        self.next_durable
    }

    /// Counts the bytes that are handed to the system.
    pub(crate) fn written_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written_bytes)
    }

    /// Whether the log has nothing but its header, and nothing is to be written to it.
    pub(crate) fn is_empty(&self) -> bool {
        let bytes = self.durable_bytes + self.unsynced.len() as u64;
        bytes <= self.start as u64 && self.queue.is_empty()
    }

    /// Takes what is to be written.
    pub(crate) fn enqueue(&mut self, pending: impl IntoIterator<Item = Pending>) {
        self.queue.extend(pending);
    }

    /// Hands all that was taken to the system. After an error it is still there to be handed on.
    pub(crate) fn write(&mut self) -> Result<()> {
        while let Some(pending) = self.queue.front() {
            let is_empty = pending.operations == 0;
            if self.is_sealed {
                let sequence = pending.first_sequence;
                self.begin_next(sequence)?;
            }
            let Some(pending) = self.queue.pop_front() else { break };
            let tag = self.tag();
            // Before this one is written, what is before it may be durable.
            let durable = self.next_durable - 1;
            if !is_empty {
                let sequences = (pending.first_sequence, durable);
                push_record(
                    tag,
                    sequences,
                    pending.operations,
                    &pending.payload,
                    &mut self.unsynced,
                );
            }
            let next = pending.next_sequence();
            if pending.ends {
                push_seal(tag, (next, durable), &mut self.unsynced);
                self.is_sealed = true;
            }
            self.next_encoded = next;
            self.hand_over()?;
            if pending.ends {
                // What comes behind it must not be durable before it.
                self.sync_file()?;
            }
        }
        self.hand_over()
    }

    /// Makes all that was taken durable.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.write()?;
        self.sync_file()
    }

    /// As [`Self::sync`], and if the log has its end by then begins the next one.
    pub(crate) fn sync_and_begin(&mut self) -> Result<()> {
        self.sync()?;
        if self.is_sealed {
            self.begin_next(self.next_encoded)?;
            self.sync()?;
        }
        Ok(())
    }

    /// Notes in the log that all of it is durable, if it is: then damage to its last records, and
    /// their loss, are told from a crash. Nobody relies on it, so it may fail, and is not synced.
    pub(crate) fn note_end(&mut self) {
        let is_noted = self.is_sealed || !self.unsynced.is_empty() || !self.queue.is_empty();
        if is_noted || self.is_empty() || self.storage.check_held().is_err() {
            return;
        }
        let note = note(self.tag(), self.next_durable);
        let at = (self.start - note.len()) as u64;
        let file = self.storage.open_at(&log_name(self.number), at);
        let _ = file.and_then(|mut file| file.write_all(&note));
    }

    /// Creates the next log, with its header, and gives its name: for a manifest that needs no log
    /// before it.
    pub(crate) fn create_next(&self) -> Result<String> {
        let number = self.number + 1;
        let name = log_name(number);
        let tag = LogTag { number, ..self.tag() };
        let header = LogHeader { tag, sequence: self.next_encoded, shape: self.shape };
        self.storage.check_held()?;
        let created = create_log(&*self.storage, &name, &header.encode());
        created.map_err(Error::io(self.storage.path(&name), "create the log"))?;
        Ok(name)
    }

    /// Goes on with the [next log](Self::create_next), and leaves this one, which [is
    /// empty](Self::is_empty), without its end.
    ///
    /// The manifest that begins there must be visible. Nothing is written before it is durable: a
    /// reader who finds the one before it takes records in that log for damage.
    pub(crate) fn leave(&mut self) {
        self.turn_to_next();
        // It is there, with its header, and the commit of the manifest has made its name durable.
        self.durable_bytes = self.start as u64;
        self.unsynced.clear();
        self.is_new = false;
        self.awaits_manifest = true;
    }

    fn tag(&self) -> LogTag {
        LogTag { store_id: self.store_id, number: self.number }
    }

    fn error(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error + use<S> {
        Error::io(self.storage.path(&log_name(self.number)), action)
    }

    fn push_header(&mut self) {
        let header = LogHeader { tag: self.tag(), sequence: self.next_encoded, shape: self.shape };
        self.unsynced.extend(header.encode());
    }

    /// Begins the log behind one that has its end.
    fn begin_next(&mut self, sequence: u64) -> Result<()> {
        self.sync_file()?;
        debug_assert_eq!(sequence, self.next_encoded);
        self.turn_to_next();
        Ok(())
    }

    fn turn_to_next(&mut self) {
        self.file = None;
        self.number += 1;
        self.start = LogHeader::RECORDS_START;
        self.durable_bytes = 0;
        self.unsynced.clear();
        self.written = 0;
        self.is_new = true;
        self.is_sealed = false;
        self.push_header();
    }

    /// Hands the bytes that are left to the system.
    fn hand_over(&mut self) -> Result<()> {
        if self.written == self.unsynced.len() {
            self.next_written = self.next_encoded;
            return Ok(());
        }
        // What another writer may have begun is not for this one.
        self.storage.check_held()?;
        if self.awaits_manifest {
            let synced = self.storage.sync_directory();
            synced.map_err(self.error("sync the directory of"))?;
            self.awaits_manifest = false;
        }
        let name = log_name(self.number);
        if self.file.is_none() {
            let handed_over = self.durable_bytes + self.written as u64;
            let opened = match handed_over {
                0 => create_log(&*self.storage, &name, &self.unsynced[..self.start]),
                _ => self.storage.open_at(&name, handed_over),
            };
            self.file = Some(opened.map_err(self.error("open the log"))?);
            if handed_over == 0 {
                self.written = self.start;
                self.written_bytes.fetch_add(self.start as u64, Ordering::Relaxed);
            }
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let bytes = &self.unsynced[self.written..];
        match file.write_all(bytes) {
            Ok(()) => {
                self.written_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                self.written = self.unsynced.len();
                self.next_written = self.next_encoded;
                Ok(())
            }
            Err(error) => {
                // Nobody knows how much of it was written: the next attempt writes it over.
                self.file = None;
                Err(self.error("write the log")(error))
            }
        }
    }

    /// Makes what was handed over durable.
    fn sync_file(&mut self) -> Result<()> {
        self.hand_over()?;
        if self.unsynced.is_empty() {
            return Ok(());
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        if let Err(error) = self.storage.sync(file) {
            // Whatever was handed over and is not durable is to be handed over again.
            self.file = None;
            self.written = 0;
            self.next_written = self.next_durable;
            return Err(self.error("sync the log")(error));
        }
        if self.is_new {
            let synced = self.storage.sync_directory();
            synced.map_err(self.error("sync the directory of"))?;
            self.is_new = false;
        }
        // Durable is what is found again: not in a directory that was removed meanwhile.
        self.storage.check_held()?;
        self.durable_bytes += self.unsynced.len() as u64;
        self.unsynced.clear();
        self.written = 0;
        self.next_durable = self.next_written;
        Ok(())
    }
}
