//! Bodies of requests and answers, within what may be in memory of all of them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refused::Refused;

/// Bytes that all bodies together may take.
#[derive(Clone)]
pub struct Buffers(Arc<Semaphore>);

/// The room of a body. It is free again once this is dropped.
pub struct Room(Option<OwnedSemaphorePermit>);

impl Buffers {
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }

    /// Takes more room.
    ///
    /// # Errors
    ///
    /// 429 if there is none.
    fn take(&self, bytes: usize, room: &mut Room) -> Result<(), Refused> {
        let full = || Refused::overloaded("the bodies of other requests take all memory", 1);
        let count = u32::try_from(bytes).map_err(|_| full())?;
        let more = Arc::clone(&self.0).try_acquire_many_owned(count).map_err(|_| full())?;
        match &mut room.0 {
            Some(permit) => permit.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }

    /// Reads a body of up to `most` bytes, and takes room as it comes: half a request takes that of
    /// the half that has come.
    ///
    /// # Errors
    ///
    /// 413 if it is longer, 408 if it does not come in time, 429 if there is no room for it.
    pub async fn read(
        &self,
        headers: &HeaderMap,
        mut body: Body,
        most: usize,
        deadline: Instant,
    ) -> Result<(Bytes, Room), Refused> {
        let too_large = || {
            let message = format!("the body is longer than {most} bytes; send fewer at once");
            Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "body", message)
        };
        let stated = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        if stated.and_then(|text| text.parse::<u64>().ok()).is_some_and(|own| own > most as u64) {
            return Err(too_large());
        }
        let (mut room, mut all) = (Room(None), BytesMut::new());
        let mut only = None;
        loop {
            let frame = tokio::time::timeout_at(deadline.into(), body.frame()).await;
            let slow = |_| {
                Refused::new(
                    StatusCode::REQUEST_TIMEOUT,
                    "timeout",
                    "the body does not come in time",
                )
            };
            let Some(frame) = frame.map_err(slow)? else { break };
            let frame = frame.map_err(|error| Refused::invalid(format!("the body: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            if all.len() + data.len() > most {
                return Err(too_large());
            }
            self.take(data.len(), &mut room)?;
            match (only.take(), all.is_empty()) {
                // Most come in one piece, which is not copied.
                (None, true) => only = Some(data),
                (first, _) => {
                    all.extend_from_slice(&first.unwrap_or_default());
                    all.extend_from_slice(&data);
                }
            }
        }
        Ok((only.unwrap_or_else(|| all.freeze()), room))
    }

    /// A body of these bytes, which has room until it is sent.
    ///
    /// # Errors
    ///
    /// 429 if there is none.
    pub fn answer(&self, bytes: Vec<u8>) -> Result<Body, Refused> {
        let mut room = Room(None);
        self.take(bytes.len(), &mut room)?;
        Ok(Body::new(Sent { bytes: Some(bytes.into()), _room: room }))
    }
}

/// A body that is sent.
struct Sent {
    bytes: Option<Bytes>,
    _room: Room,
}

impl http_body::Body for Sent {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
