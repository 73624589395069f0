//! The words of a text.

pub(crate) mod ascii;
#[cfg(feature = "jieba")]
pub(crate) mod jieba;
mod kinds;
mod sink;
mod unicode;

pub(crate) use sink::Sink;
pub(crate) use unicode::words;
