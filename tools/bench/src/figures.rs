//! Numbers as they are printed.

/// A number in few digits.
pub fn number(value: f64) -> String {
    match value {
        _ if value >= 999_500.0 => format!("{:.2}M", value / 1e6),
        _ if value >= 9_999.5 => format!("{:.0}k", value / 1e3),
        _ if value >= 99.95 => format!("{value:.0}"),
        _ if value >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Bytes with a unit.
pub fn bytes(value: f64) -> String {
    match value {
        _ if value >= 1048524.0 => format!("{:.1}M", value / 1048576.0),
        _ if value >= 9_999.5 => format!("{:.0}K", value / 1024.0),
        _ => format!("{value:.0}"),
    }
}
