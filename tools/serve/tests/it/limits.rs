//! What is beyond a limit is refused, and says so.

use std::thread;
use std::time::Duration;

use fpstore::{Layout, Packer, StoreOptions};
use serde_json::json;

use crate::running::{Random, Running, hex};

#[test]
fn each_limit_has_its_answer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("live");
    StoreOptions::new().create(&path).unwrap().close().unwrap();
    let server = Running::new(&[("live", &path)], |config| {
        config.writable = true;
        config.limits.body_bytes = 2000;
        config.limits.k = Some(5);
        config.limits.matches = 7;
        config.limits.records = 3;
    });
    let mut client = server.client();
    let one = "0000000000000001";
    let record = json!({"fingerprint": one, "id": 1});
    for (path, body, status, code) in [
        ("search", json!({"fingerprint": one, "k": 6}), 422, "k"),
        ("search", json!({"fingerprint": one, "limit": 8}), 422, "matches"),
        ("nearest", json!({"fingerprint": one, "count": 8}), 422, "matches"),
        ("search-batch", json!({"fingerprints": [one, one, one, one]}), 422, "records"),
        ("insert", json!({"records": [record, record, record, record]}), 422, "records"),
        ("check-and-insert", json!({"fingerprint": one, "id": 1, "k": 6}), 422, "k"),
        ("search", json!({"fingerprint": "0".repeat(3000)}), 413, "body"),
        ("insert", json!({"records": ["0".repeat(3000)]}), 413, "body"),
        ("search", json!({"fingerprint": one, "k": -1}), 400, "invalid"),
        ("search", json!({"fingerprint": one, "K": 1}), 400, "invalid"),
        ("search", json!([one]), 400, "invalid"),
        ("search?k=1", json!({"fingerprint": one}), 400, "invalid"),
        ("search", json!({"fingerprint": one, "k": 5, "limit": 7}), 200, ""),
        ("nearest", json!({"fingerprint": one, "count": 7, "k": 5}), 200, ""),
    ] {
        let reply = client.post(&format!("/v1/stores/live/{path}"), &body);
        let found = reply.json()["error"]["code"].as_str().unwrap_or_default().to_string();
        assert_eq!((reply.status, found.as_str()), (status, code), "{path} {body}");
        if status == 413 {
            // What was not read of the request ends the connection.
            client = server.client();
        }
    }
    for (method, path, status) in
        [("GET", "/none", 404), ("DELETE", "/health", 405), ("GET", "/v1/stores/live/search", 405)]
    {
        let reply = client.ask(method, path, "application/json", b"");
        assert_eq!(reply.status, status);
        assert_eq!(reply.header("allow").is_some(), status == 405, "{reply:?}");
        assert!(reply.json()["error"]["message"].is_string());
    }
}

#[test]
fn what_takes_too_long_ends() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = Random(3);
    let list: Vec<[u64; 4]> = (0..60_000).map(|_| random.fingerprint()).collect();
    Packer::new()
        .width::<[u64; 4]>()
        .layout(Layout::new().k(31))
        .pack(&path, list.clone())
        .unwrap();
    let server = Running::new(&[("set", &path)], |config| {
        config.limits.timeout = Duration::from_millis(1);
        config.limits.k = Some(256);
    });
    // All of these scan, or wait behind such as do.
    let digits: Vec<String> = list[..2000].iter().map(|&one| hex(one)).collect();
    let body = json!({"fingerprints": digits, "k": 120, "limit": 0});
    let reply = server.client().post("/v1/stores/set/search-batch", &body);
    assert_eq!(reply.status, 408, "{reply:?}");
    assert_eq!(server.client().get("/health").status, 200);
}

#[test]
fn when_too_much_waits_more_is_refused_at_once_and_the_rest_is_done() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = Random(4);
    let list: Vec<[u64; 4]> = (0..40_000).map(|_| random.fingerprint()).collect();
    Packer::new()
        .width::<[u64; 4]>()
        .layout(Layout::new().k(31))
        .pack(&path, list.clone())
        .unwrap();
    let server = Running::new(&[("set", &path)], |config| {
        config.threads = 1;
        config.limits.waiting = 2;
        config.limits.k = Some(256);
    });
    let counts: Vec<(usize, usize)> = thread::scope(|scope| {
        let clients = (0..12).map(|number| {
            let mut client = server.client();
            let one = hex(list[number]);
            scope.spawn(move || {
                let mut counts = (0, 0);
                for _ in 0..6 {
                    let body = json!({"fingerprint": one, "k": 100, "ids": false});
                    let reply = client.post("/v1/stores/set/search", &body);
                    match reply.status {
                        200 => counts.0 += 1,
                        429 => {
                            assert!(
                                reply.header("retry-after").unwrap().parse::<u64>().unwrap() > 0
                            );
                            counts.1 += 1;
                        }
                        _ => panic!("{reply:?}"),
                    }
                }
                counts
            })
        });
        let clients: Vec<_> = clients.collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let (done, refused) = counts.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    assert!(done > 0 && refused > 0 && done + refused == 72, "{done} {refused}");
}

#[test]
fn connections_beyond_the_most_are_refused_and_taken_again_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new().pack(&path, [1u64]).unwrap();
    let server = Running::new(&[("set", &path)], |config| config.limits.connections = 2);
    let (mut one, mut two) = (server.client(), server.client());
    assert_eq!((one.get("/health").status, two.get("/health").status), (200, 200));
    let reply = server.client().receive().unwrap();
    assert_eq!(reply.status, 429);
    assert_eq!(reply.json()["error"]["code"], "overloaded");
    drop(one);
    // It is gone a moment later.
    let again = || {
        let mut client = server.client();
        client.send("GET", "/health", "application/json", b"").ok()?;
        client.receive().ok().filter(|reply| reply.status == 200)
    };
    while again().is_none() {}
    assert_eq!(two.get("/health").status, 200);
}
