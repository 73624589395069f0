//! Times and lengths of time, as options take them.

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fpstore::{Fingerprint, Snapshot};

use crate::failure::Failure;

/// Later than all that is stored.
const FOREVER: Duration = Duration::from_secs(1 << 40);

/// A length of time, in whole seconds: `1d`, `12h`, `90m`, `3600s` or `3600`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(pub Duration);

/// A point in time: seconds since 1970, a date or a time in UTC as ISO 8601 has it, or how long ago
/// it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub SystemTime);

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "a length of time is such as 1d, 12h, 90m or 3600s".to_string();
        let length = match text.parse() {
            Ok(seconds) => Duration::from_secs(seconds),
            Err(_) => humantime::parse_duration(text).map_err(|_| wrong())?,
        };
        match length.as_secs() {
            1.. if length.subsec_nanos() == 0 => Ok(Self(length)),
            _ => Err("it is a second or longer, and whole seconds".to_string()),
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "a time is such as 2026-11-22, 2026-11-22T08:30:00Z, seconds since 1970, or how long \
             ago it was: 300d; none is before 1970"
                .to_string()
        };
        let seconds = text.parse().map(Duration::from_secs).ok();
        let time = match seconds {
            Some(since) => UNIX_EPOCH.checked_add(since).filter(|_| since < FOREVER),
            None if text.len() == 10 && text.is_ascii() => {
                humantime::parse_rfc3339_weak(&format!("{text}T00:00:00Z")).ok()
            }
            None => humantime::parse_rfc3339_weak(text).ok(),
        };
        let ago = || SystemTime::now().checked_sub(humantime::parse_duration(text).ok()?);
        // Windows are counted from there on.
        let time = time.or_else(ago).filter(|time| *time >= UNIX_EPOCH);
        time.map(Self).ok_or_else(wrong)
    }
}

/// A length of time as text.
pub fn length(length: Duration) -> String {
    let seconds = length.as_secs();
    for (unit, name) in [(86_400, "day"), (3600, "hour"), (60, "minute")] {
        if seconds.is_multiple_of(unit) {
            return crate::units::plural(seconds / unit, name);
        }
    }
    crate::units::plural(seconds, "second")
}

/// A time as text.
pub fn moment(time: SystemTime) -> String {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) if since < Duration::from_secs(250_000_000_000) => {
            humantime::format_rfc3339_seconds(time).to_string()
        }
        Ok(since) => format!("{} seconds since 1970", since.as_secs()),
        Err(_) => "before 1970".to_string(),
    }
}

/// Which records of a store with windows of time are looked at.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct TimesArgs {
    /// Only records from this time on, as far as windows tell: 2026-11-22, 2026-11-22T08:30:00Z,
    /// seconds since 1970, or how long ago: 7d; dates are those of UTC
    #[arg(long, value_name = "TIME")]
    #[arg(help_heading = "Windows of time", hide_short_help = true)]
    since: Option<Moment>,

    /// Only records before this time, as far as windows tell
    #[arg(long, value_name = "TIME")]
    #[arg(help_heading = "Windows of time", hide_short_help = true)]
    until: Option<Moment>,
}

impl TimesArgs {
    /// The part of a snapshot of the store `name` that is meant.
    pub fn of<F: Fingerprint>(
        &self,
        snapshot: Snapshot<F>,
        name: &std::path::Path,
    ) -> Result<Snapshot<F>, Failure> {
        if self.since.is_none() && self.until.is_none() {
            return Ok(snapshot);
        }
        let start = self.since.map_or(UNIX_EPOCH, |since| since.0);
        let until = self.until.map(|until| until.0).or(UNIX_EPOCH.checked_add(FOREVER));
        let end = until.unwrap_or(start);
        if end <= start {
            let message = "--until is not behind --since; give a later time, or leave one out";
            return Err(Failure::Usage(message.to_string()));
        }
        snapshot.between(start..end).map_err(|error| match error {
            fpstore::Error::InvalidOption { .. } => Failure::Usage(format!(
                "{}: has no windows of time; leave --since and --until out",
                name.display()
            )),
            other => other.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_seconds_or_how_long_ago() {
        let seconds = |text: &str| {
            let moment: Moment = text.parse().unwrap();
            moment.0.duration_since(UNIX_EPOCH).unwrap().as_secs()
        };
        assert_eq!(seconds("1970-01-02"), 86_400);
        assert_eq!(seconds("1970-01-01T01:00:00Z"), 3600);
        assert_eq!(seconds("1970-01-01 01:00:00"), 3600);
        assert_eq!(seconds("12345"), 12_345);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert!((now - 86_400 * 300 - 2..=now - 86_400 * 300 + 2).contains(&seconds("300d")));
        let told = "x".parse::<Moment>().unwrap_err();
        for wrong in [
            "",
            "-1",
            "99999999999999999999",
            "1970-13-01",
            "1970-01-0\u{fc}",
            "1969-12-31",
            "1969-12-31T23:59:59Z",
            "99999999d",
            "60years",
        ] {
            assert_eq!(wrong.parse::<Moment>(), Err(told.clone()), "{wrong}");
        }
    }

    #[test]
    fn lengths_have_units_or_are_seconds() {
        for (text, seconds) in [("1d", 86_400), ("12h", 43_200), ("90m", 5400), ("3600", 3600)] {
            assert_eq!(text.parse(), Ok(Length(Duration::from_secs(seconds))), "{text}");
        }
        for wrong in ["", "0", "500ms", "1500ms", "d"] {
            wrong.parse::<Length>().unwrap_err();
        }
        assert_eq!(length(Duration::from_secs(86_400)), "1 day");
        assert_eq!(length(Duration::from_secs(5400)), "90 minutes");
    }
}
