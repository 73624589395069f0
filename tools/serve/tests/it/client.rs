//! A small client of HTTP/1.1, which shares no code with the server.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    headers: String,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    /// The body as JSON.
    #[allow(dead_code, reason = "not all who share this file need it")]
    pub fn json(&self) -> serde_json::Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The value of a header.
    #[allow(dead_code, reason = "not all who share this file need it")]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream: BufReader::new(stream), headers: String::new() }
    }

    /// Sends this header with each request: `Name: value`.
    #[allow(dead_code, reason = "not all who share this file need it")]
    pub fn with(mut self, header: &str) -> Self {
        self.headers += &format!("{header}\r\n");
        self
    }

    /// Sends a request, and does not wait.
    pub fn send(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) -> io::Result<()> {
        let Self { headers, .. } = self;
        let host = if headers.contains("Host:") { "" } else { "Host: localhost\r\n" };
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        let all = [head.as_bytes(), body].concat();
        self.stream.get_mut().write_all(&all)
    }

    /// Reads an answer, which says how long it is.
    pub fn receive(&mut self) -> io::Result<Reply> {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if line == "\r\n" {
                break;
            }
            head += &line;
        }
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let mut reply = Reply { status, head, body: Vec::new() };
        let length = reply.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        reply.body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut reply.body)?;
        Ok(reply)
    }

    /// Asks, and waits for the answer.
    pub fn ask(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) -> Reply {
        self.send(method, path, kind, body).unwrap();
        self.receive().unwrap()
    }

    #[allow(dead_code, reason = "not all who share this file need it")]
    pub fn get(&mut self, path: &str) -> Reply {
        self.ask("GET", path, "application/json", b"")
    }

    #[allow(dead_code, reason = "not all who share this file need it")]
    pub fn post(&mut self, path: &str, body: &serde_json::Value) -> Reply {
        self.ask("POST", path, "application/json", body.to_string().as_bytes())
    }

    #[allow(dead_code, reason = "not all who share this file need it")]
    pub fn stream(&mut self) -> &mut TcpStream {
        self.stream.get_mut()
    }
}
