//! How fast a command is, and what is left.

use std::time::Duration;

/// Time between two lines of JSON of one phase, at least; what passed before it tells nothing of
/// how long the rest takes.
pub const PERIOD: Duration = Duration::from_millis(250);

/// How many are done in a second; `None` before that can be told.
pub fn rate(done: u64, passed: Duration) -> Option<f64> {
    (!passed.is_zero()).then(|| done as f64 / passed.as_secs_f64())
}

/// What `steps` will still take; `None` before that can be told.
pub fn seconds_left(passed: Duration, done: u64, steps: u64) -> Option<f64> {
    let left = steps.checked_sub(done).filter(|_| done > 0)?;
    match left {
        0 => Some(0.0),
        _ if passed < PERIOD => None,
        _ => Some(passed.as_secs_f64() * left as f64 / done as f64),
    }
}
