//! With how many threads a command runs.

/// The option.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ThreadArgs {
    /// Threads to use, up to 1024; 0 for all cores
    #[arg(short = 'j', long, default_value_t = 0, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,
}

impl ThreadArgs {
    /// How many; 0 stands for one per core.
    pub fn count(self) -> usize {
        self.threads.into()
    }
}
