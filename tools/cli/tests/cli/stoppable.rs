//! Commands that are to be stopped by a signal.

use std::process::Command;

use crate::Scratch;

/// What such a command starts behind: who runs the tests may ignore some signals, as `nohup` does,
/// and shells do for what they start in the background.
#[cfg(target_os = "linux")]
pub const HEEDS: &str = "env --default-signal=HUP,INT,TERM";

/// The command of an argument line, which signals stop.
pub fn stoppable(scratch: &Scratch, line: &str) -> Command {
    #[cfg(target_os = "linux")]
    {
        let mut words = HEEDS.split(' ');
        let mut command = Command::new(words.next().unwrap());
        command.args(words).arg(crate::PROGRAM).args(line.split_whitespace());
        command.current_dir(scratch.path("")).stdin(std::process::Stdio::null());
        command
    }
    #[cfg(not(target_os = "linux"))]
    scratch.command(line)
}
