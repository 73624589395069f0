//! From features to fingerprints, a file for each family of methods.

pub(crate) mod exact;
pub(crate) mod hyperplanes;
pub(crate) mod imatch;
pub(crate) mod projection;
pub(crate) mod python;
pub(crate) mod sentences;
pub(crate) mod slots;
pub(crate) mod spots;
pub(crate) mod tally;

/// Takes the features of a document, one after the other.
pub(crate) trait Sketch {
    /// Forgets all features.
    fn clear(&mut self);

    /// Takes a feature.
    fn add(&mut self, feature: u64);
}
