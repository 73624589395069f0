//! What is served, to whom, and how much of it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ServeError;

/// A store and the name by which clients ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedStore {
    /// 1 to 64 of `A-Z a-z 0-9 . _ -`, and no dot in front.
    pub name: String,
    /// Its directory.
    pub path: PathBuf,
}

impl NamedStore {
    /// Reads `NAME=PATH`, or the path of a directory, whose name without `.fps` is that of the
    /// store.
    ///
    /// # Errors
    ///
    /// [`ServeError::Name`] if that is no name.
    pub fn parse(text: &str) -> Result<Self, ServeError> {
        let is_name = |name: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            (1..=64).contains(&name.len()) && !name.starts_with('.') && name.chars().all(fits)
        };
        if let Some((name, path)) = text.split_once('=').filter(|(name, _)| is_name(name)) {
            return Ok(Self { name: name.to_string(), path: path.into() });
        }
        let path = Path::new(text);
        let whole = path.canonicalize();
        let of_path = whole.as_deref().unwrap_or(path).file_name().unwrap_or_default();
        let name = of_path.to_string_lossy();
        let name = name.strip_suffix(".fps").unwrap_or(&name);
        match is_name(name) {
            true => Ok(Self { name: name.to_string(), path: path.to_path_buf() }),
            false => Err(ServeError::Name(text.to_string())),
        }
    }
}

/// How much a request may ask for, and how much there may be at once. What is more gets an answer
/// of the class 4xx that says so.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of the body of a request: else 413.
    pub body_bytes: usize,
    /// The greatest distance; `None` stands for twice that which a store was made for. Else 422.
    pub k: Option<u32>,
    /// Matches, and ids, of one search: else 422.
    pub matches: usize,
    /// Fingerprints or records of one request: else 422.
    pub records: usize,
    /// Time of a request, from its head on: else 408.
    pub timeout: Duration,
    /// Searches, and writes of each store, that wait for their turn: else 429.
    pub waiting: usize,
    /// Connections: else they are closed with 429.
    pub connections: usize,
    /// Bytes of all bodies that are in memory, of requests and answers: else 429.
    pub buffer_bytes: usize,
    /// Time after which a connection that asks nothing is closed.
    pub idle: Duration,
    /// Time that requests have to end once the server is asked to.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            k: None,
            matches: 10_000,
            records: 100_000,
            timeout: Duration::from_secs(10),
            waiting: 1024,
            connections: 16_384,
            buffer_bytes: 256 << 20,
            idle: Duration::from_secs(60),
            drain: Duration::from_secs(10),
        }
    }
}

/// What goes to the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogRequests {
    /// Problems alone.
    No,
    /// A line for each request, without fingerprints and ids.
    #[default]
    Yes,
    /// With the body of each request in JSON, that is with fingerprints and ids.
    WithBodies,
}

/// How stores are served.
#[derive(Clone, Debug)]
pub struct Config {
    /// The stores.
    pub stores: Vec<NamedStore>,
    /// Where to listen. Any address but that of the machine itself needs tokens.
    pub listen: SocketAddr,
    /// Whether clients may write. Each store is then held by a writer.
    pub writable: bool,
    /// A file with the tokens of those who read, one a line.
    pub read_tokens: Option<PathBuf>,
    /// A file with the tokens of those who also write.
    pub write_tokens: Option<PathBuf>,
    /// Threads that search; 0 stands for one per core.
    pub threads: usize,
    /// How much may be asked for.
    pub limits: Limits,
    /// What goes to the log.
    pub log: LogRequests,
}

impl Config {
    /// Serves these stores to those who read on this machine, on port 7878.
    pub fn new(stores: Vec<NamedStore>) -> Self {
        Self {
            stores,
            listen: SocketAddr::from(([127, 0, 0, 1], 7878)),
            writable: false,
            read_tokens: None,
            write_tokens: None,
            threads: 0,
            limits: Limits::default(),
            log: LogRequests::default(),
        }
    }

    /// Refuses what would let anybody in, and names that come twice.
    pub(crate) fn check(&self) -> Result<(), ServeError> {
        for (place, store) in self.stores.iter().enumerate() {
            if let Some(other) = self.stores[..place].iter().find(|other| other.name == store.name)
            {
                let paths = [other.path.clone(), store.path.clone()];
                return Err(ServeError::SameName { name: store.name.clone(), paths });
            }
        }
        if self.listen.ip().is_loopback() {
            return Ok(());
        }
        if self.read_tokens.is_none() {
            return Err(ServeError::Open { listen: self.listen, option: "--read-token" });
        }
        if self.writable && self.write_tokens.is_none() {
            return Err(ServeError::Open { listen: self.listen, option: "--write-token" });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_named_by_hand_or_by_their_directory() {
        for (text, name, path) in [
            ("pages.fps", "pages", "pages.fps"),
            ("/data/live/pages.fps/", "pages", "/data/live/pages.fps/"),
            ("a=b=c", "a", "b=c"),
            ("photos=/data/x y", "photos", "/data/x y"),
        ] {
            let store = NamedStore::parse(text).unwrap();
            assert_eq!((store.name.as_str(), store.path), (name, PathBuf::from(path)), "{text}");
        }
        for text in ["", "/", "a b", "=x", ".fps"] {
            assert!(matches!(NamedStore::parse(text), Err(ServeError::Name(_))), "{text}");
        }
    }

    #[test]
    fn whoever_listens_to_others_needs_tokens() {
        let mut config = Config::new(Vec::new());
        config.check().unwrap();
        config.listen = SocketAddr::from(([0, 0, 0, 0], 1));
        let told = |config: &Config| config.check().unwrap_err().to_string();
        assert!(told(&config).contains("--read-token"));
        config.read_tokens = Some("t".into());
        config.check().unwrap();
        config.writable = true;
        assert!(told(&config).contains("--write-token"));
        config.write_tokens = Some("t".into());
        config.check().unwrap();
        let store = NamedStore::parse("a=b").unwrap();
        config.stores = vec![store.clone(), store];
        assert!(told(&config).contains("a"));
    }
}
