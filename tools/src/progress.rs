//! The progress bar of `pack`. It is drawn on standard error, and only if that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// One bar for all phases of a pack.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar, or with `quiet` none.
    pub fn new(quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::no_length() };
        Self { bar }
    }

    /// Starts the phase of reading `bytes` of input, or an unknown number of them.
    pub fn start_reading(&self, bytes: Option<u64>) {
        match bytes {
            Some(bytes) => {
                self.style("read   [{wide_bar}] {bytes}/{total_bytes}, {eta} left");
                self.bar.set_length(bytes);
            }
            None => self.style("read   {spinner} {bytes}, {bytes_per_sec}"),
        }
        self.bar.enable_steady_tick(Duration::from_millis(100));
    }

    /// Tells that `bytes` of input have been read.
    pub fn read(&self, bytes: u64) {
        self.bar.set_position(bytes);
    }

    /// Shows what the library tells while it packs.
    pub fn packing(&self, progress: &fpstore::Progress) {
        let phase = progress.phase.to_string();
        let is_new = self.bar.message() != phase;
        if is_new {
            // The name stands in the style, since each other change of the bar draws it at once.
            let counts = "[{wide_bar}] {human_pos}/{human_len} fingerprints, {eta} left";
            self.style(&format!("{phase:6} {counts}"));
            self.bar.reset_eta();
        }
        self.bar.update(|state| {
            state.set_len(progress.total);
            state.set_pos(progress.done);
        });
        if is_new {
            self.bar.set_message(phase);
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn style(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
    }
}
