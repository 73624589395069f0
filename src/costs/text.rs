//! Constants as text: a line `group.name = number` for each.

use std::fmt;

use crate::error::{Error, Result};

/// A group of constants.
pub(super) trait CostGroup {
    /// The name of each constant, and what it means.
    const TEXTS: &'static [(&'static str, &'static str)];

    /// The constants in the same order.
    fn values(&mut self) -> Vec<&mut f64>;
}

/// Writes the lines of a group, with what each constant means.
pub(super) fn write<G: CostGroup + Copy>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    mut group: G,
) -> fmt::Result {
    writeln!(f)?;
    for ((constant, text), value) in G::TEXTS.iter().zip(group.values()) {
        writeln!(f, "{name}.{constant} = {value} # {text}")?;
    }
    Ok(())
}

/// The constants of a group with their names.
pub(super) fn named<'a, G: CostGroup>(
    name: &'static str,
    group: &'a mut G,
) -> impl Iterator<Item = (String, &'a mut f64)> {
    let names = G::TEXTS.iter().map(move |(constant, _)| format!("{name}.{constant}"));
    names.zip(group.values())
}

/// Sets those constants that the lines of `text` give; `#` starts a comment.
pub(super) fn read<'a>(
    text: &str,
    constants: impl Iterator<Item = (String, &'a mut f64)>,
) -> Result<()> {
    let mut constants: Vec<_> = constants.collect();
    for line in text.lines() {
        let plain = line.split('#').next().unwrap_or_default().trim();
        if plain.is_empty() {
            continue;
        }
        let set = plain.split_once('=').and_then(|(name, number)| {
            let number: f64 = number.trim().parse().ok()?;
            let (_, constant) = constants.iter_mut().find(|(known, _)| known == name.trim())?;
            (number.is_finite() && number >= 0.0).then(|| **constant = number)
        });
        if set.is_none() {
            let names: Vec<&str> = constants.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Error::InvalidOption {
                option: "calibration",
                value: plain.to_string(),
                expected: format!(
                    "each line is NAME = NUMBER, the number 0 or more, the name one of {}",
                    names.join(", ")
                ),
            });
        }
    }
    Ok(())
}
