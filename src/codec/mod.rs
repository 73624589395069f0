//! What coding keys costs: the histogram of their classes, the choice of codec and column that
//! follows from it, and the Huffman codes. The codecs are named in `format`, and `block` makes and
//! reads the bytes.

pub(crate) mod huffman;
pub(crate) mod profile;
