//! The start of a text that is ASCII.

/// How many bytes at the start of `bytes` are ASCII.
#[inline]
pub(crate) fn prefix(bytes: &[u8]) -> usize {
    const CHUNK: usize = 32;
    let (chunks, _) = bytes.as_chunks::<CHUNK>();
    let whole = CHUNK * chunks.iter().take_while(|chunk| chunk.is_ascii()).count();
    whole + bytes[whole..].iter().take_while(|byte| byte.is_ascii()).count()
}
