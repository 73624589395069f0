//! Decodes key by key, compiled for CPUs with AVX2: shifts by BMI2, and low parts joined by
//! vectors.

#![allow(unsafe_code)]

use super::decoder::Decode;
use super::plain::PlainStep;
use super::steps;
use super::stream::{LANES, Lane, Place, Streams};
use super::unpack::Unpack;
use crate::simd::Avx2;

/// The decoder for tables whose keys have too many raw bits for runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainAvx2<const XOR: bool, const LONG: bool>(pub(super) Avx2);

impl<const XOR: bool, const LONG: bool> Decode for PlainAvx2<XOR, LONG> {
    fn decode(&self, streams: &Streams<'_>, lanes: &mut [Lane<'_>; LANES]) -> bool {
        // SAFETY: a value of `Avx2` exists only where the CPU has AVX2, BMI1, BMI2 and LZCNT.
        unsafe { decode::<XOR, LONG>(self.0, streams, lanes) }
    }

    fn decode_one(&self, streams: &Streams<'_>, lane: &mut Lane<'_>) -> bool {
        // SAFETY: as above.
        unsafe { decode_one::<XOR, LONG>(self.0, streams, lane) }
    }

    fn middles(&self, streams: &Streams<'_>, lane: &mut Lane<'_>, last: usize) -> bool {
        // SAFETY: as above.
        unsafe { middles::<XOR, LONG>(streams, lane, last) }
    }

    fn skip(&self, streams: &Streams<'_>, place: &mut Place, keys: usize) -> bool {
        // SAFETY: as above.
        unsafe { skip::<XOR, LONG>(streams, place, keys) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn decode<const XOR: bool, const LONG: bool>(
    avx2: Avx2,
    streams: &Streams<'_>,
    lanes: &mut [Lane<'_>; LANES],
) -> bool {
    steps::decode(&PlainStep::<XOR, LONG>::new(streams), Unpack(avx2), streams, lanes)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn decode_one<const XOR: bool, const LONG: bool>(
    avx2: Avx2,
    streams: &Streams<'_>,
    lane: &mut Lane<'_>,
) -> bool {
    steps::decode_one(&PlainStep::<XOR, LONG>::new(streams), Unpack(avx2), streams, lane)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn middles<const XOR: bool, const LONG: bool>(
    streams: &Streams<'_>,
    lane: &mut Lane<'_>,
    last: usize,
) -> bool {
    steps::middles(&PlainStep::<XOR, LONG>::new(streams), streams, lane, last)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn skip<const XOR: bool, const LONG: bool>(
    streams: &Streams<'_>,
    place: &mut Place,
    keys: usize,
) -> bool {
    steps::skip(&PlainStep::<XOR, LONG>::new(streams), streams, place, keys)
}
