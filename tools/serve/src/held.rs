//! A store that is served: what it holds now, and what is asked of it.
//!
//! Searches look at a snapshot that stands ready. Who writes, merges or opens what has come to the
//! path puts another one in its place; nobody waits for that.

use std::mem;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fpstore::{
    Execution, Fingerprint, Hex, Id, IdKind, Match, OpenOptions, Searcher, Snapshot, Store,
    WriterOptions,
};

use crate::ServeError;
use crate::config::{Limits, NamedStore};
use crate::ids::{self, from_hex, kind_name};
use crate::messages::{MatchJson, SearchAnswer, StoreJson};
use crate::refused::Refused;
use crate::writing::{WriteCounts, WriteQueue};

/// So long a snapshot is kept that another one has replaced, so that no search is the last to hold
/// it, and has to give its files back.
const KEPT: Duration = Duration::from_secs(15);

/// What searches look at, and their buffers.
pub struct Shared<F: Fingerprint> {
    current: RwLock<Snapshot<F>>,
    idle: Mutex<Vec<Searcher<F>>>,
    retired: Mutex<Vec<(Instant, Snapshot<F>)>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F: Fingerprint> Shared<F> {
    fn new(current: Snapshot<F>) -> Arc<Self> {
        let (idle, retired) = (Mutex::default(), Mutex::default());
        Arc::new(Self { current: RwLock::new(current), idle, retired })
    }

    pub fn snapshot(&self) -> Snapshot<F> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another snapshot in the place of the current one. One thread at a time does.
    fn publish(&self, now: Snapshot<F>) {
        let is_new = {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            (current.id(), current.generation()) != (now.id(), now.generation())
        };
        let before = {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            mem::replace(&mut *current, now)
        };
        let mut retired = locked(&self.retired);
        if is_new {
            retired.push((Instant::now(), before));
        }
        let gone = retired.iter().take_while(|(since, _)| since.elapsed() > KEPT).count();
        let gone: Vec<_> = retired.drain(..gone).collect();
        drop(retired);
        if is_new || !gone.is_empty() {
            // Those that are left hold what nobody searches any more.
            let idle = mem::take(&mut *locked(&self.idle));
            drop(idle);
        }
        drop(gone);
    }

    /// Calls `work` with a searcher of what the store holds now.
    pub fn with_searcher<T>(
        &self,
        deadline: Instant,
        work: impl FnOnce(&mut Searcher<F>) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let now = self.snapshot();
        let idle = locked(&self.idle).pop();
        let mut searcher = match idle {
            Some(mut idle) => {
                idle.turn_to(now);
                idle
            }
            None => now.searcher(),
        };
        searcher.deadline(Some(deadline));
        let done = work(&mut searcher)?;
        locked(&self.idle).push(searcher);
        Ok(done)
    }
}

/// Where a store comes from.
enum Origin<F: Fingerprint> {
    /// Others write it.
    Read(Store<F>),
    /// This server does.
    Written { queue: WriteQueue<F>, thread: Mutex<Option<JoinHandle<fpstore::Result<()>>>> },
}

/// A store that is served.
pub struct Held<F: Fingerprint> {
    pub name: String,
    path: PathBuf,
    pub radius: u32,
    pub most_k: u32,
    pub kind: Option<IdKind>,
    pub shared: Arc<Shared<F>>,
    origin: Origin<F>,
    pub limits: Limits,
    /// Shared by all batches, so that they have its threads together.
    pub execution: Execution,
    stale: Mutex<Option<String>>,
    pub refreshes: AtomicU64,
    pub refresh_failures: AtomicU64,
}

/// What a search gives at most.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub k: u32,
    pub limit: usize,
    pub ids: bool,
}

impl<F: Fingerprint> Held<F> {
    pub fn open(
        store: &NamedStore,
        writable: bool,
        limits: &Limits,
        execution: &Execution,
        counts: &Arc<WriteCounts>,
    ) -> Result<Self, ServeError> {
        let (shared, origin) = if writable {
            let writer = WriterOptions::new().width::<F>().open(&store.path)?;
            let shared = Shared::new(writer.snapshot());
            let publisher = Arc::clone(&shared);
            let publish = move |now| publisher.publish(now);
            let (queue, thread) =
                WriteQueue::start(writer, limits.waiting, Arc::clone(counts), publish)
                    .map_err(ServeError::Thread)?;
            (shared, Origin::Written { queue, thread: Mutex::new(Some(thread)) })
        } else {
            let opened = OpenOptions::new().width::<F>().open(&store.path)?;
            (Shared::new(opened.snapshot()), Origin::Read(opened))
        };
        let now = shared.snapshot();
        let (radius, kind) = (now.radius(), now.id_kind());
        let most_k = limits.k.unwrap_or(radius.saturating_mul(2).max(8)).min(F::BITS);
        Ok(Self {
            name: store.name.clone(),
            path: store.path.clone(),
            radius,
            most_k,
            kind,
            shared,
            origin,
            limits: limits.clone(),
            execution: execution.clone(),
            stale: Mutex::default(),
            refreshes: AtomicU64::new(0),
            refresh_failures: AtomicU64::new(0),
        })
    }

    /// Looks whether others have written the store, and takes over what stands there now. Gives
    /// what went wrong, once.
    pub fn refresh(&self) -> Option<String> {
        let Origin::Read(store) = &self.origin else { return None };
        let failure = match store.refresh() {
            Ok(is_new) => {
                let now = store.snapshot();
                if now.id_kind() == self.kind {
                    if is_new {
                        self.refreshes.fetch_add(1, Relaxed);
                    }
                    self.shared.publish(now);
                    None
                } else {
                    let (before, now) = (kind_name(self.kind), kind_name(now.id_kind()));
                    let path = self.path.display();
                    Some(format!("{path}: its ids were {before} and are {now}; restart the server"))
                }
            }
            Err(error) => Some(error.to_string()),
        };
        if failure.is_some() {
            self.refresh_failures.fetch_add(1, Relaxed);
        }
        let mut stale = locked(&self.stale);
        let is_told = *stale == failure;
        stale.clone_from(&failure);
        failure.filter(|_| !is_told)
    }

    /// The thread that writes.
    ///
    /// # Errors
    ///
    /// 403 where this server does not write.
    pub fn queue(&self) -> Result<&WriteQueue<F>, Refused> {
        match &self.origin {
            Origin::Written { queue, .. } => Ok(queue),
            Origin::Read(_) => Err(read_only()),
        }
    }

    pub fn is_writable(&self) -> bool {
        matches!(self.origin, Origin::Written { .. })
    }

    /// Takes the thread that writes, to be waited for once the store is dropped.
    pub fn take_thread(&self) -> Option<JoinHandle<fpstore::Result<()>>> {
        match &self.origin {
            Origin::Written { thread, .. } => locked(thread).take(),
            Origin::Read(_) => None,
        }
    }

    /// # Errors
    ///
    /// 400 where it is no fingerprint of this store.
    pub fn fingerprint(&self, digits: &str) -> Result<F, Refused> {
        let bytes = from_hex(digits);
        bytes.and_then(|bytes| F::from_be_slice(&bytes)).ok_or_else(|| {
            let start: String = digits.chars().take(70).collect();
            Refused::invalid(format!(
                "{start:?} is no fingerprint of {} bits; give {} hexadecimal digits",
                F::BITS,
                F::BITS / 4
            ))
        })
    }

    /// What is wanted, within what is allowed.
    ///
    /// # Errors
    ///
    /// 422 where it is not.
    pub fn wanted(
        &self,
        k: Option<u32>,
        limit: Option<usize>,
        ids: Option<bool>,
    ) -> Result<Wanted, Refused> {
        let k = k.unwrap_or(self.radius.min(self.most_k));
        if k > self.most_k {
            let most = self.most_k;
            return Err(Refused::limit(
                "k",
                format!("k = {k} is more than the {most} allowed here"),
            ));
        }
        let limit = limit.unwrap_or(self.limits.matches.min(1000));
        if limit > self.limits.matches {
            let most = self.limits.matches;
            let message =
                format!("a limit of {limit} matches is more than the {most} allowed here");
            return Err(Refused::limit("matches", message));
        }
        Ok(Wanted { k, limit, ids: ids.unwrap_or(true) && self.kind.is_some() })
    }

    /// Matches as JSON has them. `room` is how many ids there may be, and is what is left of it.
    pub fn to_json(
        &self,
        snapshot: &Snapshot<F>,
        matches: &[Match<F>],
        ids: bool,
        room: &mut usize,
    ) -> Result<Vec<MatchJson>, Refused> {
        let of_match = |&Match { fingerprint, distance, .. }: &Match<F>| {
            let (mut texts, mut more_ids) = (None, false);
            if ids {
                let all = snapshot.ids::<Id>(fingerprint)?;
                let mut list = Vec::new();
                for id in all {
                    if *room == 0 {
                        more_ids = true;
                        break;
                    }
                    *room -= 1;
                    list.push(ids::text_of(id?.as_ref()));
                }
                texts = Some(list);
            }
            let fingerprint = Hex::of(fingerprint).to_string();
            Ok(MatchJson { fingerprint, distance, ids: texts, more_ids })
        };
        matches.iter().map(of_match).collect()
    }

    /// The nearest matches within `k`, and whether there are more.
    pub fn search(
        &self,
        fingerprint: F,
        wanted: Wanted,
        deadline: Instant,
    ) -> Result<SearchAnswer, Refused> {
        self.shared.with_searcher(deadline, |searcher| {
            let Wanted { k, limit, ids } = wanted;
            let found = searcher.search_up_to(fingerprint, k, limit)?.map(<[_]>::to_vec);
            let mut found = match found {
                Some(found) => found,
                // Perhaps fewer, if some were found several times.
                None => searcher.nearest(fingerprint, limit + 1, k)?,
            };
            let more = found.len() > limit;
            found.truncate(limit);
            let mut room = self.limits.matches;
            let matches = self.to_json(searcher.snapshot(), &found, ids, &mut room)?;
            Ok(SearchAnswer { matches, more })
        })
    }

    /// The nearest ones within `k`.
    pub fn nearest(
        &self,
        fingerprint: F,
        wanted: Wanted,
        deadline: Instant,
    ) -> Result<Vec<MatchJson>, Refused> {
        self.shared.with_searcher(deadline, |searcher| {
            let found = searcher.nearest(fingerprint, wanted.limit, wanted.k)?;
            let mut room = self.limits.matches;
            self.to_json(searcher.snapshot(), &found, wanted.ids, &mut room)
        })
    }

    /// What the store holds.
    ///
    /// # Errors
    ///
    /// 500 if a file of it is damaged.
    pub fn stats(&self) -> Result<StoreJson, Refused> {
        let snapshot = self.shared.snapshot();
        let stats = snapshot.stats()?;
        Ok(StoreJson {
            name: self.name.clone(),
            bits: F::BITS,
            k: self.radius,
            most_k: self.most_k,
            ids: kind_name(self.kind),
            writable: self.is_writable(),
            fingerprints: snapshot.len(),
            segments: stats.segments.len(),
            log_operations: stats.living.as_ref().map_or(0, |living| living.log_operations),
            bytes: stats.bytes,
            heap_bytes: snapshot.heap_bytes(),
            generation: snapshot.generation(),
            recipe: snapshot.recipe().map(str::to_string),
            stale: locked(&self.stale).clone(),
        })
    }
}

/// What is said to those who write where nobody may.
pub fn read_only() -> Refused {
    let message = "this server takes no writes; start it with --write";
    Refused::new(axum::http::StatusCode::FORBIDDEN, "read-only", message)
}
