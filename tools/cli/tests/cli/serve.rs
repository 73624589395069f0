//! `fpstore serve`: starts, is killed, is asked to end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::{PROGRAM, Scratch};

/// Starts it, and gives its port once it serves.
fn start(scratch: &Scratch, arguments: &[&str]) -> (Child, u16) {
    let mut child = Command::new(PROGRAM)
        .args(["serve", "--listen", "127.0.0.1:0", "-q"])
        .args(arguments)
        .current_dir(scratch.path(""))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
    (child, port.unwrap_or_else(|| panic!("{line}")))
}

/// Inserts one record, and tells whether that was acknowledged.
fn insert(stream: &mut TcpStream, fingerprint: u64) -> bool {
    let digits = format!("{fingerprint:016x}");
    let body =
        format!("{{\"records\":[{{\"fingerprint\":\"{digits}\",\"id\":\"{fingerprint}\"}}]}}");
    let head =
        "POST /v1/stores/live/insert HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
    let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    if stream.write_all(request.as_bytes()).is_err() {
        return false;
    }
    // The answer comes in one piece, and the code stands in front.
    let mut answer = [0; 4096];
    let read = stream.read(&mut answer).unwrap_or(0);
    answer[..read].starts_with(b"HTTP/1.1 200")
}

/// `FPSTORE_KILLS` says how often.
#[test]
fn nothing_that_was_acknowledged_is_lost_when_it_is_killed() {
    let scratch = Scratch::new();
    scratch.run("create live -q").succeeds();
    let kills = std::env::var("FPSTORE_KILLS").ok().and_then(|kills| kills.parse().ok());
    let kills: u64 = kills.unwrap_or(20);
    let mut acknowledged: Vec<u64> = Vec::new();
    for round in 1..=kills {
        let (mut child, port) = start(&scratch, &["live", "--write"]);
        let clients: Vec<_> = (0..4u64)
            .map(|client| {
                thread::spawn(move || {
                    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
                        return Vec::new();
                    };
                    let all = (0..).map(|number| round << 40 | client << 32 | number);
                    all.take_while(|&one| insert(&mut stream, one)).collect::<Vec<u64>>()
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(20 + round * 7 % 60));
        // SIGKILL.
        child.kill().unwrap();
        child.wait().unwrap();
        clients.into_iter().for_each(|client| acknowledged.extend(client.join().unwrap()));
    }
    assert!(acknowledged.len() as u64 > kills, "{} were acknowledged", acknowledged.len());
    let store = fpstore::Store::open(scratch.path("live")).unwrap();
    for one in acknowledged {
        assert!(store.snapshot().contains_id(one, one).unwrap(), "{one:x}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_well() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 2], "");
    let (mut child, port) = start(&scratch, &["a=store"]);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET /v1/stores/a HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 200 ") && answer.contains("\"fingerprints\":2"), "{answer}");
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_cannot_be_served_is_refused_in_a_line() {
    let scratch = Scratch::new();
    scratch.pack("store", &[1, 2], "");
    for (line, parts) in [
        ("serve", &["STORE"][..]),
        ("serve none", &["none", "[DIR-1]"]),
        ("serve a=store a=store", &["a", "NAME=PATH"]),
        ("serve store --listen 0.0.0.0:0", &["--read-token"]),
        ("serve store --read-token missing", &["missing"]),
        ("serve store --timeout 0s", &["--timeout"]),
    ] {
        scratch.run(line).fails_naming(parts);
    }
}
