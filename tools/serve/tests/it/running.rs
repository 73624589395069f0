//! A server in this process, and sets to serve.

use std::net::SocketAddr;
use std::path::Path;
use std::thread::{self, JoinHandle};

use fpstore::Fingerprint;
use fpstore_serve::{Config, LogRequests, NamedStore, ServeError, Server, Stopper};

use crate::client::Client;

/// Ends when it is dropped.
pub struct Running {
    pub address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Running {
    /// Serves stores by name, with a configuration that `change` has changed.
    pub fn new(stores: &[(&str, &Path)], change: impl FnOnce(&mut Config)) -> Self {
        let named = |&(name, path): &(&str, &Path)| NamedStore {
            name: name.to_string(),
            path: path.to_path_buf(),
        };
        let mut config = Config::new(stores.iter().map(named).collect());
        config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
        config.log = LogRequests::No;
        change(&mut config);
        let server = Server::open(&config).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let thread = Some(thread::spawn(move || server.run()));
        Self { address, stopper, thread }
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Asks it to end, and does not wait.
    pub fn begin_to_end(&self) {
        self.stopper.stop();
    }

    pub fn end(mut self) -> Result<(), ServeError> {
        self.stopper.stop();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Numbers that look random, the same ones each time.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn fingerprint<F: Fingerprint>(&mut self) -> F {
        let mut bytes = F::Bytes::default();
        bytes.as_mut().fill_with(|| self.next() as u8);
        F::from_be_bytes(bytes)
    }

    /// The same with up to so many bits flipped.
    pub fn near<F: Fingerprint>(&mut self, one: F, most: u32) -> F {
        let mut bytes = one.to_be_bytes();
        for _ in 0..self.next() % u64::from(most + 1) {
            let bit = (self.next() % u64::from(F::BITS)) as usize;
            bytes.as_mut()[bit / 8] ^= 0x80 >> (bit % 8);
        }
        F::from_be_bytes(bytes)
    }
}

pub fn hex<F: Fingerprint>(fingerprint: F) -> String {
    fingerprint.to_be_bytes().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
