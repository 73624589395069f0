//! Numbers as people read them: three significant digits and a unit.

use std::time::Duration;

/// A whole number with separators: 1,234,567.
pub fn count(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// A number in at most five characters: 999, 1.23k, 12.3M.
pub fn short(value: f64) -> String {
    scaled(value, 1000.0, &["", "k", "M", "G", "T"])
}

/// Bytes: 999 B, 12.3 KiB, 1023 MiB.
pub fn bytes(value: f64) -> String {
    scaled(value, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"])
}

/// A time in nanoseconds: 870 ns, 12.3 us, 1.20 s.
pub fn time(ns: f64) -> String {
    scaled(ns, 1000.0, &[" ns", " us", " ms", " s"])
}

/// How much time is left: 12s, 2m 10s, 1h 20m.
pub fn left(seconds: f64) -> String {
    let unit = match seconds {
        _ if seconds < 3600.0 => 1,
        _ if seconds < 86_400.0 => 60,
        _ => 3600,
    };
    let whole = (seconds.max(1.0) as u64).div_ceil(unit).saturating_mul(unit);
    humantime::format_duration(Duration::from_secs(whole)).to_string()
}

/// A number of things: 1 table, 2 tables.
pub fn plural(number: u64, thing: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {thing}{s}", count(number))
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value.max(0.0), 0);
    // What would be rounded to the next unit stands in it.
    while value >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = match value {
        _ if unit == 0 || value >= 99.95 => 0,
        _ if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits_and_a_unit() {
        for (value, text) in [
            (0.0, "0"),
            (7.0, "7"),
            (999.4, "999"),
            (999.6, "1.00k"),
            (12_345.0, "12.3k"),
            (99_960.0, "100k"),
            (999_600.0, "1.00M"),
            (5.2e12, "5.20T"),
        ] {
            assert_eq!(short(value), text, "{value}");
        }
        assert_eq!(bytes(1023.0), "1023 B");
        assert_eq!(bytes(800_000.0), "781 KiB");
        assert_eq!(time(870.4), "870 ns");
        assert_eq!(time(12_345.0), "12.3 us");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!([plural(1, "table"), plural(0, "table")], ["1 table", "0 tables"]);
    }

    #[test]
    fn what_is_left_has_two_units_at_most() {
        for (seconds, text) in [
            (0.01, "1s"),
            (59.4, "59s"),
            (130.0, "2m 10s"),
            (4795.0, "1h 20m"),
            (90_001.0, "1day 2h"),
        ] {
            assert_eq!(left(seconds), text, "{seconds}");
        }
    }
}
