//! The document of the interface, held against what is there; metrics; the page.

use std::collections::BTreeSet;

use fpstore::{Packer, StoreOptions};
use serde_json::{Value, json};

use crate::running::Running;

/// All methods that a path may have.
const METHODS: [&str; 5] = ["get", "post", "put", "delete", "patch"];

#[test]
fn the_document_names_the_paths_that_there_are_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("live");
    StoreOptions::new().create(&path).unwrap().close().unwrap();
    let server = Running::new(&[("live", &path)], |config| config.writable = true);
    let mut client = server.client();
    let document = client.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut count = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in METHODS {
            let reply =
                client.ask(&method.to_uppercase(), &path.replace("{store}", "live"), "x/y", b"");
            let is_there = reply.status != 405 && reply.status != 404;
            assert_eq!(is_there, methods.get(method).is_some(), "{method} {path}: {reply:?}");
            count += usize::from(is_there);
            if is_there {
                let status = reply.status.to_string();
                assert!(
                    !methods[method]["responses"][&status].is_null(),
                    "{method} {path}: {status}"
                );
            }
        }
    }
    // As many as the source has.
    let source = include_str!("../../src/app.rs");
    let routes = source.lines().filter(|line| line.trim_start().starts_with("(\"/")).count();
    assert!(count > 10 && count == routes, "{count} {routes}");
    check_references(&document, &document);
    assert_eq!(document["components"]["schemas"]["StoreName"]["enum"], json!(["live"]));
}

/// All that is referred to is there.
fn check_references(value: &Value, document: &Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(path)) = object.get("$ref") {
                assert!(document.pointer(path.trim_start_matches('#')).is_some(), "{path}");
            }
            object.values().for_each(|value| check_references(value, document));
        }
        Value::Array(array) => array.iter().for_each(|value| check_references(value, document)),
        _ => {}
    }
}

#[test]
fn metrics_count_what_was_asked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new().pack(&path, [1u64, 2, 3]).unwrap();
    let server = Running::new(&[("set", &path)], |_| {});
    let mut client = server.client();
    for digits in ["0000000000000001", "0000000000000002", "1"] {
        client.post("/v1/stores/set/search", &json!({"fingerprint": digits}));
    }
    let reply = client.get("/metrics");
    assert!(reply.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let text = String::from_utf8(reply.body).unwrap();
    for line in [
        "fpstore_requests_total{operation=\"search\",status=\"200\"} 2",
        "fpstore_requests_total{operation=\"search\",status=\"400\"} 1",
        "fpstore_request_seconds_count{operation=\"search\"} 2",
        "fpstore_store_fingerprints{store=\"set\"} 3",
        "fpstore_connections 1",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
    // Every line is a comment of a known kind, or a name, labels and a number.
    let mut described = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.split(' ');
            assert!(["HELP", "TYPE"].contains(&words.next().unwrap()), "{line}");
            described.insert(words.next().unwrap());
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        value.parse::<f64>().unwrap();
        let name = name.split('{').next().unwrap();
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        assert!(described.contains(name) || described.contains(base.unwrap_or("")), "{line}");
    }
    let status = client.get("/v1/status").json();
    assert_eq!(status["latencies"][0]["count"], 2);
    assert!(status["latencies"][0]["p50_ms"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_page_asks_nobody_else_and_writes_no_markup_of_ids() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new().pack(&path, [1u64]).unwrap();
    let server = Running::new(&[("set", &path)], |_| {});
    let reply = server.client().get("/");
    assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"));
    let page = String::from_utf8(reply.body).unwrap();
    for foreign in [
        "http:",
        "https:",
        "//cdn",
        "src=",
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
    ] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("<html lang=\"en\">") && page.contains("name=\"viewport\""));
}
