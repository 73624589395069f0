//! Clients that are slow, cut off, or send anything.

use std::io::{Read, Write};
use std::time::Duration;

use fpstore::StoreOptions;
use serde_json::json;

use crate::running::{Random, Running};

/// A server of an empty store that is written to.
fn server(directory: &tempfile::TempDir, timeout: Duration) -> Running {
    let path = directory.path().join("live");
    StoreOptions::new().create(&path).unwrap().close().unwrap();
    Running::new(&[("live", &path)], |config| {
        config.writable = true;
        config.limits.timeout = timeout;
        config.limits.body_bytes = 1 << 20;
        config.limits.buffer_bytes = 4 << 20;
        config.limits.idle = timeout;
        config.limits.drain = Duration::from_secs(1);
    })
}

#[test]
fn half_requests_and_slow_ones_end_and_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(&directory, Duration::from_millis(300));
    let halves = [
        &b""[..],
        b"POST /v1/stores/live/sea",
        b"POST /v1/stores/live/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n",
        b"POST /v1/stores/live/insert HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"rec",
        b"POST /v1/stores/live/insert HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nFFFFF\r\n",
    ];
    let mut slow: Vec<_> = (0..50).map(|_| server.client()).collect();
    for (place, client) in slow.iter_mut().enumerate() {
        client.stream().write_all(halves[place % halves.len()]).unwrap();
    }
    let mut client = server.client();
    for _ in 0..20 {
        let body = json!({"fingerprint": "0000000000000001"});
        assert_eq!(client.post("/v1/stores/live/search", &body).status, 200);
    }
    // Each is closed, by an answer or without one.
    for client in &mut slow {
        let mut rest = Vec::new();
        client.stream().read_to_end(&mut rest).unwrap();
        let text = String::from_utf8_lossy(&rest);
        assert!(rest.is_empty() || text.starts_with("HTTP/1.1 408"), "{text}");
    }
}

#[test]
fn a_body_that_is_too_long_is_not_taken() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(&directory, Duration::from_secs(10));
    let head = "POST /v1/stores/live/insert HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    // One that says so is refused before it is sent, and one that does not as soon as it is.
    let mut client = server.client();
    write!(client.stream(), "{head}Content-Length: 1073741824\r\n\r\n").unwrap();
    assert_eq!(client.receive().unwrap().status, 413);
    let mut client = server.client();
    write!(client.stream(), "{head}Transfer-Encoding: chunked\r\n\r\n").unwrap();
    let piece = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
    let sent = (0..16_384).take_while(|_| client.stream().write_all(&piece).is_ok()).count();
    assert!(sent < 1000, "{sent} pieces of 64 KiB were taken");
    // And what many send at once is bounded together.
    let mut clients: Vec<_> = (0..12).map(|_| server.client()).collect();
    for client in &mut clients {
        write!(client.stream(), "{head}Content-Length: 1000000\r\n\r\n").unwrap();
        let _ = client.stream().write_all(&[b' '; 600_000]);
    }
    let refused = |client: &mut crate::client::Client| {
        client.stream().set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        client.receive().is_ok_and(|reply| reply.status == 429)
    };
    let refused = clients.iter_mut().map(refused).filter(|&refused| refused).count();
    assert!((4..=8).contains(&refused), "{refused}");
    assert_eq!(server.client().get("/health").status, 200);
}

#[test]
fn garbage_ends_its_connection_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(&directory, Duration::from_millis(500));
    let mut random = Random(9);
    let good = b"POST /v1/stores/live/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 34\r\nConnection: close\r\n\r\n{\"fingerprint\":\"0000000000000001\"}";
    for round in 0..400 {
        let mut bytes = good.to_vec();
        for _ in 0..=round % 8 {
            let place = random.next() as usize % bytes.len();
            match random.next() % 3 {
                0 => bytes[place] = random.next() as u8,
                1 => drop(bytes.remove(place)),
                _ => bytes.insert(place, random.next() as u8),
            }
        }
        let mut client = server.client();
        let _ = client.stream().write_all(&bytes);
        let _ = client.stream().shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = client.stream().read_to_end(&mut rest);
        let text = String::from_utf8_lossy(&rest);
        assert!(
            rest.is_empty() || text.starts_with("HTTP/1.1 2") || text.starts_with("HTTP/1.1 4"),
            "{text}"
        );
    }
    let body = json!({"fingerprint": "0000000000000001"});
    assert_eq!(server.client().post("/v1/stores/live/search", &body).status, 200);
}

#[test]
fn whoever_ends_it_waits_for_requests_that_have_begun() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(&directory, Duration::from_secs(10));
    let mut idle = server.client();
    assert_eq!(idle.get("/ready").status, 200);
    let mut client = server.client();
    let body = br#"{"records":[{"fingerprint":"0000000000000001","id":"1"}]}"#;
    let length = body.len();
    let head = format!(
        "POST /v1/stores/live/insert HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    client.stream().write_all(head.as_bytes()).unwrap();
    // The head is read before the end begins: the answer to another one comes later.
    assert_eq!(server.client().get("/health").status, 200);
    server.begin_to_end();
    // One that asks nothing is closed.
    let mut rest = Vec::new();
    idle.stream().read_to_end(&mut rest).unwrap();
    client.stream().write_all(body).unwrap();
    let reply = client.receive().unwrap();
    assert_eq!(reply.status, 200);
    server.end().unwrap();
    let store = fpstore::Store::open(directory.path().join("live")).unwrap();
    assert_eq!(store.count().unwrap(), 1);
}
