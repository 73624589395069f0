//! `fpstore serve`: stores over HTTP, for many clients.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use fpstore_serve::{Config, Limits, LogRequests, NamedStore, ServeError, Server};

use crate::failure::{Failure, one_line};
use crate::global::Globals;
use crate::interrupt::on_first_signal;
use crate::options::any_radius;

const AFTER_HELP: &str = "\
Examples:
  fpstore serve photos.fps                       read it on this machine
  fpstore serve pages=/data/live/pages.fps --write
  fpstore serve *.fps --listen 0.0.0.0:7878 --read-token readers
  curl -s localhost:7878/v1/stores/photos/search \\
      -H 'Content-Type: application/json' -d '{\"fingerprint\":\"8f3ac41e09b7d265\",\"k\":3}'

Paths (`/openapi.json` describes all of them; `/` is a page for people):
  POST /v1/stores/STORE/search            what is within k of one fingerprint
  POST /v1/stores/STORE/nearest           the nearest ones
  POST /v1/stores/STORE/search-batch      many at once, in JSON or Arrow
  POST /v1/stores/STORE/check-and-insert  what is near, or else insert it
  POST /v1/stores/STORE/insert, delete    records, in JSON or Arrow
  GET  /v1/stores, /v1/stores/STORE       what is stored
  GET  /health, /ready, /metrics          for those who run it
Ids are strings in JSON, also numbers, so that none loses digits.

Without --write the stores are read, and what others write to them, or put in
their place, is seen within some 100 ms. With --write this server is the writer
of each; a write is answered once it is on the disk (or the system has it:
\"durable\":\"system\"), together with all others that came meanwhile.

A token is a line of its file, such as `openssl rand -hex 32` gives, and is
sent as `Authorization: Bearer TOKEN`. Any address but this machine's own needs
--read-token, and with --write also --write-token, which may read too. TLS is
the business of a proxy in front (nginx, Caddy, HAProxy), with the server on
127.0.0.1 behind it.

What is beyond a limit is refused with a code of the class 4xx and a reason;
when there is too much to do, with 429 and Retry-After, at once. The log on
standard error has a line for each request, without fingerprints and ids.

Exit codes: 0 after SIGTERM, SIGINT or SIGHUP, once requests have ended and all
is durable; 2 on an error; a second signal ends it at once.";

/// Answers searches and takes writes over HTTP
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// Stores, each as its directory or as NAME=DIRECTORY
    #[arg(required = true, value_name = "STORE")]
    stores: Vec<String>,

    /// Address and port to listen on
    #[arg(long, default_value = "127.0.0.1:7878", value_name = "ADDRESS")]
    listen: SocketAddr,

    /// Let clients insert and delete
    #[arg(long)]
    write: bool,

    /// A file with the tokens of those who may read, one a line
    #[arg(long, value_name = "FILE")]
    read_token: Option<PathBuf>,

    /// A file with the tokens of those who may also write
    #[arg(long, value_name = "FILE")]
    write_token: Option<PathBuf>,

    /// The greatest distance of a search [default: twice that of the store, at least 8]
    #[arg(long, value_name = "K", value_parser = any_radius)]
    most_k: Option<u32>,

    /// Time of a request, such as 500ms or 10s
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = time)]
    timeout: Duration,

    /// The most matches, and ids, of a search; of a batch a hundred times as many
    #[arg(long, default_value_t = 10_000, value_name = "N", hide_short_help = true)]
    most_matches: usize,

    /// The most fingerprints or records of a request
    #[arg(long, default_value_t = 100_000, value_name = "N", hide_short_help = true)]
    most_records: usize,

    /// MiB of the body of a request
    #[arg(long, default_value_t = 16, value_name = "MIB", hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    most_body: u16,

    /// Searches, and writes of each store, that may wait for their turn
    #[arg(long, default_value_t = 1024, value_name = "N", hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    waiting: u32,

    /// The most connections; fewer where the system allows fewer open files
    #[arg(long, default_value_t = 16_384, value_name = "N", hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,

    /// Write the bodies of requests to the log, that is fingerprints and ids
    #[arg(long, hide_short_help = true)]
    log_bodies: bool,
}

/// A time that is more than nothing.
fn time(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if !time.is_zero() => Ok(time),
        Ok(_) => Err("a time is more than nothing".to_string()),
        Err(error) => Err(format!("{error}; write it as 500ms, 10s or 2m")),
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Store(error) => Self::Store(error),
            other => Self::Usage(other.to_string()),
        }
    }
}

/// Serves until a signal comes.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let stores = args.stores.iter().map(|text| NamedStore::parse(text));
    let mut config = Config::new(stores.collect::<Result<_, _>>()?);
    config.listen = args.listen;
    config.writable = args.write;
    config.read_tokens.clone_from(&args.read_token);
    config.write_tokens.clone_from(&args.write_token);
    config.threads = args.globals.threads.count();
    config.log = match (args.globals.quiet, args.log_bodies) {
        (true, _) => LogRequests::No,
        (_, true) => LogRequests::WithBodies,
        _ => LogRequests::Yes,
    };
    let body_bytes = usize::from(args.most_body) << 20;
    config.limits = Limits {
        body_bytes,
        k: args.most_k,
        matches: args.most_matches,
        records: args.most_records,
        timeout: args.timeout,
        waiting: args.waiting as usize,
        connections: args.connections as usize,
        // Some of the largest at once.
        buffer_bytes: (8 * body_bytes).max(256 << 20),
        drain: args.timeout,
        ..Limits::default()
    };
    let server = Server::open(&config)?;
    let stopper = server.stopper();
    on_first_signal(move |_| stopper.stop())?;
    // Whoever started it may wait for this line; if nobody reads it, it serves all the same.
    let ready = format!("fpstore: serves {} on http://{}", names(&config), server.address());
    let _ = writeln!(io::stderr(), "{}", one_line(&ready));
    server.run()?;
    Ok(ExitCode::SUCCESS)
}

fn names(config: &Config) -> String {
    let names: Vec<&str> = config.stores.iter().map(|store| store.name.as_str()).collect();
    names.join(", ")
}
