//! Searches, compared with a list.

use fpstore::{Fingerprint, Layout, Packer, StoreOptions};
use serde_json::{Value, json};

use crate::running::{Random, Running, hex};

/// What is within k of a query, by distance, then by value; in JSON.
pub fn near<F: Fingerprint>(list: &[(F, u64)], query: F, k: u32) -> Vec<Value> {
    let mut found: Vec<(u32, F)> = list
        .iter()
        .map(|&(one, _)| (one.distance(query), one))
        .filter(|&(distance, _)| distance <= k)
        .collect();
    found.sort_unstable();
    found.dedup();
    let of = |(distance, one): (u32, F)| {
        let mut ids: Vec<u64> =
            list.iter().filter(|&&(other, _)| other == one).map(|&(_, id)| id).collect();
        ids.sort_unstable();
        ids.dedup();
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        json!({"fingerprint": hex(one), "distance": distance, "ids": ids})
    };
    found.into_iter().map(of).collect()
}

/// Fingerprints of which many are near each other, with ids beyond 2^53.
pub fn set<F: Fingerprint>(random: &mut Random, count: usize) -> Vec<(F, u64)> {
    let mut list: Vec<(F, u64)> = Vec::new();
    for number in 0..count as u64 {
        let fingerprint = match list.get(random.next() as usize % (2 * list.len() + 1)) {
            Some(&(other, _)) => random.near(other, 3),
            None => random.fingerprint(),
        };
        list.push((fingerprint, (1 << 53) + number));
    }
    list
}

fn check<F: Fingerprint>() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = Random(u64::from(F::BITS));
    let list = set::<F>(&mut random, 1000);
    Packer::new()
        .width::<F>()
        .layout(Layout::new().k(4))
        .pack_with_ids(&path, list.clone())
        .unwrap();
    let server = Running::new(&[("set", &path)], |_| {});
    let mut client = server.client();
    let mut matched = 0;
    for number in 0..40 {
        let query = match number % 4 {
            0 => random.fingerprint(),
            _ => {
                let (one, _) = list[random.next() as usize % list.len()];
                random.near(one, 4)
            }
        };
        let k = (random.next() % 9) as u32;
        let expected = near(&list, query, k);
        matched += expected.len();
        let body = json!({"fingerprint": hex(query), "k": k});
        let reply = client.post("/v1/stores/set/search", &body);
        assert_eq!(
            (reply.status, reply.json()),
            (200, json!({"matches": expected, "more": false}))
        );
        // The nearest of them, and whether there are more.
        let limit = (random.next() % 4) as usize;
        let body = json!({"fingerprint": hex(query), "k": k, "limit": limit, "ids": false});
        let reply = client.post("/v1/stores/set/search", &body).json();
        let mut first = expected[..limit.min(expected.len())].to_vec();
        for one in &mut first {
            one.as_object_mut().unwrap().remove("ids");
        }
        assert_eq!(reply, json!({"matches": first, "more": expected.len() > limit}));
        let body = json!({"fingerprint": hex(query).to_uppercase(), "count": limit + 1, "k": k});
        let reply = client.post("/v1/stores/set/nearest", &body).json();
        assert_eq!(reply, json!({"matches": expected[..expected.len().min(limit + 1)]}));
    }
    assert!(matched > 15);
    // Without k it is that of the store.
    let query = list[5].0;
    let reply = client.post("/v1/stores/set/search", &json!({"fingerprint": hex(query)})).json();
    assert_eq!(reply["matches"], json!(near(&list, query, 4)));
    let queries: Vec<F> = (0..50).map(|place| random.near(list[place * 7].0, 5)).collect();
    let digits: Vec<String> = queries.iter().map(|&query| hex(query)).collect();
    let body = json!({"fingerprints": digits, "k": 6, "limit": 5});
    let reply = client.post("/v1/stores/set/search-batch", &body).json();
    for (place, &query) in queries.iter().enumerate() {
        let expected = near(&list, query, 6);
        let first = &expected[..expected.len().min(5)];
        let expected = json!({"matches": first, "more": expected.len() > 5});
        assert_eq!(reply["answers"][place], expected, "{place}");
    }
    assert_eq!(reply["answers"].as_array().unwrap().len(), 50);
}

#[test]
fn answers_are_those_of_a_list_at_every_width() {
    check::<u32>();
    check::<u64>();
    check::<u128>();
    check::<[u64; 4]>();
}

#[test]
fn stores_are_asked_by_name_and_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
    Packer::new().pack(&one, [1u64, 2]).unwrap();
    Packer::new().width::<u128>().pack(&other, [3u128]).unwrap();
    let server = Running::new(&[("one", &one), ("b.other-1", &other)], |_| {});
    let mut client = server.client();
    let list = client.get("/v1/stores").json();
    let names: Vec<&str> = list["stores"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["b.other-1", "one"]);
    let stats = client.get("/v1/stores/one").json();
    assert_eq!((&stats["bits"], &stats["fingerprints"]), (&json!(64), &json!(2)));
    assert_eq!((&stats["ids"], &stats["writable"]), (&json!("none"), &json!(false)));
    let body = json!({"fingerprint": "00000000000000000000000000000003", "k": 0});
    let reply = client.post("/v1/stores/b.other-1/search", &body);
    assert_eq!(reply.json()["matches"].as_array().unwrap().len(), 1);
    assert_eq!(client.post("/v1/stores/one/search", &body).status, 400);
    for path in ["/v1/stores/none", "/v1/stores/%ff", "/v1/stores/a%2Fb"] {
        let reply = client.get(path);
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (404, &json!("not-found")));
    }
}

#[test]
fn a_packed_store_that_is_replaced_is_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new().pack(&path, [1u64]).unwrap();
    let server = Running::new(&[("set", &path)], |_| {});
    let mut client = server.client();
    let mut ask = |digits: &str| {
        let body = json!({"fingerprint": digits, "k": 0});
        let reply = client.post("/v1/stores/set/search", &body);
        assert_eq!(reply.status, 200);
        reply.json()["matches"].as_array().unwrap().len()
    };
    assert_eq!(ask("0000000000000001"), 1);
    for round in 2..5u64 {
        Packer::new().replace(true).pack(&path, [round]).unwrap();
        // Searches are answered all the time, by what was there before or by what is there now.
        while ask(&format!("{round:016x}")) == 0 {}
        assert_eq!(ask(&format!("{:016x}", round - 1)), 0);
    }
    // Where it is gone, what it held is served, and that is told.
    std::fs::rename(&path, directory.path().join("gone")).unwrap();
    let mut client = server.client();
    while client.get("/v1/stores/set").json().get("stale").is_none() {}
    let body = json!({"fingerprint": "0000000000000004", "k": 0});
    let reply = client.post("/v1/stores/set/search", &body).json();
    assert_eq!(reply["matches"].as_array().unwrap().len(), 1);
    // And another one that comes there is taken.
    Packer::new().pack(&path, [9u64]).unwrap();
    while client.get("/v1/stores/set").json().get("stale").is_some() {}
}

#[test]
fn what_another_process_commits_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let writer = StoreOptions::new().create(&path).unwrap();
    let server = Running::new(&[("live", &path)], |_| {});
    let mut client = server.client();
    writer.insert(5, u64::MAX).unwrap();
    writer.commit(fpstore::Durability::Immediate).unwrap();
    let body = json!({"fingerprint": "0000000000000005", "k": 0});
    loop {
        let reply = client.post("/v1/stores/live/search", &body).json();
        if let Some(found) = reply["matches"].get(0) {
            assert_eq!(found["ids"], json!(["18446744073709551615"]));
            break;
        }
    }
}
