//! How keys are coded: the histogram of their classes, the choice of codec and column that follows
//! from it, and the Huffman codes.

pub(crate) mod huffman;
pub(crate) mod profile;
