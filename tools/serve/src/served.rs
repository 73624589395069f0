//! What all stores have in common, whatever the width of their fingerprints.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use bytes::Bytes;
use fpstore::{Execution, Fingerprint, IdKind, Verdict, width_of};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ServeError;
use crate::config::{Limits, NamedStore};
use crate::held::{Held, Wanted, read_only};
use crate::messages::{
    BatchRequest, CheckAnswer, CheckRequest, Durable, NearestAnswer, NearestRequest, RecordJson,
    SearchRequest, StoreJson, WriteAnswer, WriteRequest,
};
use crate::refused::Refused;
use crate::writing::{Change, WriteCounts};

/// The body of an answer.
pub type Answer = Result<Vec<u8>, Refused>;
/// The same, of a write that is waited for.
pub type Later = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Bodies of more bytes are not read where connections are served.
const SMALL: usize = 64 << 10;

/// A body, and what it is.
pub enum Body {
    Json(Bytes),
    Arrow(Bytes),
}

/// What the query string of a request with Arrow says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parameters {
    pub k: Option<u32>,
    pub limit: Option<usize>,
    pub ids: Option<bool>,
    pub durable: Durable,
}

/// A store of any width. All but the writes take a core while they run.
pub trait Served: Send + Sync {
    fn name(&self) -> &str;
    fn is_writable(&self) -> bool;
    fn bits(&self) -> u32;
    fn most_k(&self) -> u32;
    fn kind(&self) -> Option<IdKind>;
    fn search(&self, body: &[u8], deadline: Instant) -> Answer;
    fn nearest(&self, body: &[u8], deadline: Instant) -> Answer;
    fn batch(&self, body: Body, parameters: Parameters, deadline: Instant) -> Answer;
    fn check_and_insert(self: Arc<Self>, body: Bytes) -> Later;
    fn insert(self: Arc<Self>, body: Body, parameters: Parameters) -> Later;
    fn delete(self: Arc<Self>, body: Body, parameters: Parameters) -> Later;
    fn stats(&self) -> Result<StoreJson, Refused>;
    /// What it holds: fingerprints, segments, and bytes of the heap.
    fn sizes(&self) -> [u64; 3];
    fn writes_waiting(&self) -> usize;
    /// How often it was looked at anew with something new, and without success.
    fn refreshes(&self) -> [u64; 2];
    fn refresh(&self) -> Option<String>;
    fn take_thread(&self) -> Option<JoinHandle<fpstore::Result<()>>>;
}

/// Opens a store of whatever width.
pub fn open(
    store: &NamedStore,
    writable: bool,
    limits: &Limits,
    execution: &Execution,
    counts: &Arc<WriteCounts>,
) -> Result<Arc<dyn Served>, ServeError> {
    macro_rules! held {
        ($type:ty) => {
            Ok(Arc::new(Held::<$type>::open(store, writable, limits, execution, counts)?))
        };
    }
    match width_of(&store.path)? {
        32 => held!(u32),
        64 => held!(u64),
        128 => held!(u128),
        256 => held!([u64; 4]),
        bits => Err(ServeError::Bits { path: store.path.clone(), bits }),
    }
}

/// Reads a request.
///
/// # Errors
///
/// 400 where it is none.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| Refused::invalid(format!("the body: {error}")))
}

pub fn to_json(answer: &impl Serialize) -> Answer {
    serde_json::to_vec(answer).map_err(|_| crate::pool::failed())
}

impl<F: Fingerprint> Held<F> {
    fn records(&self, body: Body, parameters: Parameters) -> Result<Records<F>, Refused> {
        let (records, durable) = match body {
            Body::Arrow(bytes) => (self.records_of_arrow(bytes)?, parameters.durable),
            Body::Json(bytes) => {
                let WriteRequest { records, durable } = parse(&bytes)?;
                self.check_records(records.len())?;
                let of_record = |RecordJson { fingerprint, id }: &RecordJson| {
                    let id = match (id, self.kind) {
                        (Some(_), None) => return Err(Refused::invalid("this store has no ids")),
                        (Some(id), Some(kind)) => Some(id.to_id(kind)?),
                        (None, _) => None,
                    };
                    Ok((self.fingerprint(fingerprint)?, id))
                };
                (records.iter().map(of_record).collect::<Result<_, _>>()?, durable)
            }
        };
        Ok(Records { records, durable })
    }

    /// Reads records, apart where there are many.
    async fn records_apart(
        self: &Arc<Self>,
        body: Body,
        parameters: Parameters,
    ) -> Result<Records<F>, Refused> {
        match body {
            Body::Json(bytes) if bytes.len() <= SMALL => {
                self.records(Body::Json(bytes), parameters)
            }
            body => {
                let this = Arc::clone(self);
                let reading = tokio::task::spawn_blocking(move || this.records(body, parameters));
                reading.await.unwrap_or_else(|_| Err(crate::pool::failed()))
            }
        }
    }

    /// # Errors
    ///
    /// 400 if an id is missing.
    fn check_ids<I>(&self, records: &[(F, Option<I>)]) -> Result<(), Refused> {
        match self.kind.is_some() && records.iter().any(|(_, id)| id.is_none()) {
            true => Err(Refused::invalid("each record of this store needs an id")),
            false => Ok(()),
        }
    }

    async fn check_and_insert_json(&self, body: Bytes) -> Answer {
        let request: CheckRequest = parse(&body)?;
        let queue = self.queue()?;
        let CheckRequest { fingerprint, id, k, limit, ids, durable } = request;
        let wanted = self.wanted(k, limit, ids)?;
        let fingerprint = self.fingerprint(&fingerprint)?;
        let id = match (id, self.kind) {
            (Some(_), None) => return Err(Refused::invalid("this store has no ids")),
            (Some(id), Some(kind)) => Some(id.to_id(kind)?),
            (None, Some(_)) => {
                return Err(Refused::invalid("each record of this store needs an id"));
            }
            (None, None) => None,
        };
        let verdict =
            queue.change(Change::CheckAndInsert(fingerprint, id, wanted.k), durable).await?;
        let Verdict::Near(mut near) = verdict else {
            return to_json(&CheckAnswer { inserted: true, matches: Vec::new(), more: false });
        };
        let more = near.len() > wanted.limit;
        near.truncate(wanted.limit);
        let mut room = self.limits.matches;
        let matches = self.to_json(&self.shared.snapshot(), &near, wanted.ids, &mut room)?;
        to_json(&CheckAnswer { inserted: false, matches, more })
    }
}

/// What is to be written.
struct Records<F> {
    records: Vec<(F, Option<fpstore::Id>)>,
    durable: Durable,
}

impl<F: Fingerprint> Served for Held<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_writable(&self) -> bool {
        Held::is_writable(self)
    }

    fn bits(&self) -> u32 {
        F::BITS
    }

    fn most_k(&self) -> u32 {
        self.most_k
    }

    fn kind(&self) -> Option<IdKind> {
        self.kind
    }

    fn search(&self, body: &[u8], deadline: Instant) -> Answer {
        let SearchRequest { fingerprint, k, limit, ids } = parse(body)?;
        let wanted = self.wanted(k, limit, ids)?;
        to_json(&Held::search(self, self.fingerprint(&fingerprint)?, wanted, deadline)?)
    }

    fn nearest(&self, body: &[u8], deadline: Instant) -> Answer {
        let NearestRequest { fingerprint, count, k, ids } = parse(body)?;
        let wanted = self.wanted(k.or(Some(self.most_k)), Some(count), ids)?;
        let matches = Held::nearest(self, self.fingerprint(&fingerprint)?, wanted, deadline)?;
        to_json(&NearestAnswer { matches })
    }

    fn batch(&self, body: Body, parameters: Parameters, deadline: Instant) -> Answer {
        let limit = |limit: Option<usize>| Some(limit.unwrap_or(self.limits.matches.min(100)));
        match body {
            Body::Arrow(bytes) => {
                let Parameters { k, limit: given, ids, .. } = parameters;
                let wanted: Wanted = self.wanted(k, limit(given), ids)?;
                self.batch_of_arrow(bytes, wanted, deadline)
            }
            Body::Json(bytes) => {
                let BatchRequest { fingerprints, k, limit: given, ids } = parse(&bytes)?;
                self.check_records(fingerprints.len())?;
                let wanted = self.wanted(k, limit(given), ids)?;
                let queries = fingerprints.iter().map(|digits| self.fingerprint(digits));
                let queries = queries.collect::<Result<Vec<F>, _>>()?;
                to_json(&Held::batch(self, &queries, wanted, deadline)?)
            }
        }
    }

    fn check_and_insert(self: Arc<Self>, body: Bytes) -> Later {
        Box::pin(async move { self.check_and_insert_json(body).await })
    }

    fn insert(self: Arc<Self>, body: Body, parameters: Parameters) -> Later {
        Box::pin(async move {
            let queue = self.queue()?;
            let Records { records, durable } = self.records_apart(body, parameters).await?;
            self.check_ids(&records)?;
            let answer = WriteAnswer { records: records.len() };
            queue.change(Change::Insert(records), durable).await?;
            to_json(&answer)
        })
    }

    fn delete(self: Arc<Self>, body: Body, parameters: Parameters) -> Later {
        Box::pin(async move {
            let queue = self.queue()?;
            let Records { records, durable } = self.records_apart(body, parameters).await?;
            let answer = WriteAnswer { records: records.len() };
            let (mut pairs, mut whole) = (Vec::new(), Vec::new());
            for (fingerprint, id) in records {
                match id {
                    Some(id) => pairs.push((fingerprint, id)),
                    None => whole.push(fingerprint),
                }
            }
            queue.change(Change::Delete(pairs, whole), durable).await?;
            to_json(&answer)
        })
    }

    fn stats(&self) -> Result<StoreJson, Refused> {
        Held::stats(self)
    }

    fn sizes(&self) -> [u64; 3] {
        let snapshot = self.shared.snapshot();
        let segments = snapshot.stats().map_or(0, |stats| stats.segments.len() as u64);
        [snapshot.len(), segments, snapshot.heap_bytes()]
    }

    fn writes_waiting(&self) -> usize {
        self.queue().map_or(0, |queue| queue.waiting())
    }

    fn refreshes(&self) -> [u64; 2] {
        use std::sync::atomic::Ordering::Relaxed;
        [self.refreshes.load(Relaxed), self.refresh_failures.load(Relaxed)]
    }

    fn refresh(&self) -> Option<String> {
        Held::refresh(self)
    }

    fn take_thread(&self) -> Option<JoinHandle<fpstore::Result<()>>> {
        Held::take_thread(self)
    }
}

/// Refuses a write before its body is read.
pub fn check_writable(store: &dyn Served) -> Result<(), Refused> {
    if store.is_writable() { Ok(()) } else { Err(read_only()) }
}
