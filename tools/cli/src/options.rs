//! Values of options that several commands take.

/// Reads a distance, as `-k` takes it everywhere.
pub fn radius(text: &str) -> Result<u32, String> {
    let radius = text.parse().ok().filter(|radius| *radius <= 64);
    radius.ok_or_else(|| "a distance is a whole number of bits, from 0 to 64".to_string())
}
