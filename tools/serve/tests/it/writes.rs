//! Writes, which are seen once they are acknowledged and stay when the server ends.

use std::thread;

use fpstore::{IdKind, Store, StoreOptions};
use serde_json::{Value, json};

use crate::running::{Random, Running, hex};
use crate::searches::near;

fn insert(client: &mut crate::client::Client, records: Value) -> u16 {
    client.post("/v1/stores/live/insert", &json!({"records": records})).status
}

#[test]
fn many_clients_write_and_each_sees_what_it_wrote() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("live");
    StoreOptions::new().create(&path).unwrap().close().unwrap();
    let server = Running::new(&[("live", &path)], |config| config.writable = true);
    let mut list = Vec::new();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..4u64)
            .map(|number| {
                let mut client = server.client();
                scope.spawn(move || {
                    let mut random = Random(number);
                    let mut own = Vec::new();
                    for round in 0..25 {
                        let one: u64 = random.fingerprint();
                        let id = u64::MAX - number * 1000 - round;
                        let record = json!({"fingerprint": hex(one), "id": id.to_string()});
                        assert_eq!(insert(&mut client, json!([record])), 200);
                        own.push((one, id));
                        let body = json!({"fingerprint": hex(one), "k": 0});
                        let reply = client.post("/v1/stores/live/search", &body).json();
                        assert_eq!(reply["matches"], json!(near(&own, one, 0)));
                    }
                    own
                })
            })
            .collect();
        clients.into_iter().for_each(|client| list.extend(client.join().unwrap()));
    });
    // Every second one is deleted: of them half by the pair, half as a whole.
    let mut client = server.client();
    let deleted: Vec<_> = list.iter().step_by(2).copied().collect();
    let records: Vec<Value> = deleted
        .iter()
        .enumerate()
        .map(|(place, &(one, id))| match place % 2 {
            0 => json!({"fingerprint": hex(one), "id": id}),
            _ => json!({"fingerprint": hex(one)}),
        })
        .collect();
    let reply = client.post("/v1/stores/live/delete", &json!({"records": records}));
    assert_eq!((reply.status, reply.json()), (200, json!({"records": 50})));
    let rest: Vec<_> = list.iter().skip(1).step_by(2).copied().collect();
    for &(one, _) in &list {
        let body = json!({"fingerprint": hex(one), "k": 0});
        let reply = client.post("/v1/stores/live/search", &body).json();
        assert_eq!(reply["matches"], json!(near(&rest, one, 0)));
    }
    server.end().unwrap();
    let store = Store::open(&path).unwrap();
    let mut stored: Vec<(u64, u64)> = Vec::new();
    for pair in store.iter_with_ids::<u64>() {
        let (fingerprint, ids) = pair.unwrap();
        stored.extend(ids.map(|id| (fingerprint, id.unwrap())));
    }
    let mut rest = rest;
    rest.sort_unstable();
    stored.sort_unstable();
    assert_eq!(stored, rest);
}

#[test]
fn check_and_insert_inserts_what_has_no_near_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("live");
    StoreOptions::new().ids(IdKind::Text).create(&path).unwrap().close().unwrap();
    let server = Running::new(&[("live", &path)], |config| config.writable = true);
    let mut client = server.client();
    let mut check = |digits: &str, id: &str, k: u32| {
        let body = json!({"fingerprint": digits, "id": id, "k": k, "durable": "system"});
        let reply = client.post("/v1/stores/live/check-and-insert", &body);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    };
    let inserted = json!({"inserted": true, "matches": [], "more": false});
    assert_eq!(check("00000000000000ff", "https://a.example/<b>", 3), inserted);
    assert_eq!(check("000000000000000f", "b", 3), inserted);
    let found = json!([{"fingerprint": "00000000000000ff", "distance": 1, "ids": ["https://a.example/<b>"]}]);
    let near = json!({"inserted": false, "matches": found, "more": false});
    assert_eq!(check("00000000000000fe", "c", 3), near);
    assert_eq!(check("00000000000000fe", "c", 0), inserted);
}

#[test]
fn one_of_many_that_check_the_same_at_once_inserts_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("live");
    StoreOptions::new().create(&path).unwrap().close().unwrap();
    let server = Running::new(&[("live", &path)], |config| config.writable = true);
    let inserted: usize = thread::scope(|scope| {
        let check = |id: u64| {
            let mut client = server.client();
            scope.spawn(move || {
                let rounds = (0..20u64).map(|round| {
                    let fingerprint = format!("{:016x}", round << 32 | 1 << id);
                    let body = json!({"fingerprint": fingerprint, "id": id, "k": 2});
                    let reply = client.post("/v1/stores/live/check-and-insert", &body).json();
                    usize::from(reply["inserted"].as_bool().unwrap())
                });
                rounds.sum::<usize>()
            })
        };
        let clients: Vec<_> = (0..6).map(check).collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    // Rounds may be near each other, but each has one at most.
    assert!((1..=20).contains(&inserted), "{inserted}");
    assert_eq!(Store::open(&path).unwrap().count().unwrap(), inserted as u64);
}

#[test]
fn what_is_no_record_of_the_store_is_refused_and_nothing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let [path, bare, uuids] = ["live", "bare", "uuids"].map(|name| directory.path().join(name));
    StoreOptions::new().create(&path).unwrap().close().unwrap();
    StoreOptions::new().ids(None).create(&bare).unwrap().close().unwrap();
    StoreOptions::new().ids(IdKind::Uuid).create(&uuids).unwrap().close().unwrap();
    let stores = [("live", &*path), ("bare", &*bare), ("uuids", &*uuids)];
    let server = Running::new(&stores, |config| config.writable = true);
    let mut client = server.client();
    let one = "0000000000000001";
    for (store, record) in [
        ("live", json!({"fingerprint": one})),
        ("live", json!({"fingerprint": one, "id": "x"})),
        ("live", json!({"fingerprint": one, "id": 1.5})),
        ("live", json!({"fingerprint": one, "id": -1})),
        ("live", json!({"fingerprint": "1", "id": 1})),
        ("live", json!({"fingerprint": "000000000000000g", "id": 1})),
        ("live", json!({"fingerprint": one, "id": 1, "more": 2})),
        ("live", json!({"id": 1})),
        ("bare", json!({"fingerprint": one, "id": 1})),
        ("uuids", json!({"fingerprint": one, "id": "7"})),
    ] {
        // A good one in front of it is not written either.
        let good = match store {
            "live" => json!({"fingerprint": one, "id": "5"}),
            "bare" => json!({"fingerprint": one}),
            _ => json!({"fingerprint": one, "id": "123e4567-e89b-12d3-a456-426614174000"}),
        };
        let body = json!({"records": [good, record]});
        let reply = client.post(&format!("/v1/stores/{store}/insert"), &body);
        assert_eq!(reply.status, 400, "{record}: {reply:?}");
        assert!(!reply.json()["error"]["message"].as_str().unwrap().is_empty());
        assert_eq!(client.get(&format!("/v1/stores/{store}")).json()["fingerprints"], 0);
    }
    let uuid = "123e4567-e89b-12d3-a456-426614174000";
    let body = json!({"records": [{"fingerprint": one, "id": uuid}]});
    assert_eq!(client.post("/v1/stores/uuids/insert", &body).status, 200);
    let found = client.post("/v1/stores/uuids/search", &json!({"fingerprint": one})).json();
    assert_eq!(found["matches"][0]["ids"], json!([uuid]));
}
