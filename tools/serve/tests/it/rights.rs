//! Tokens, and pages of others.

use fpstore::StoreOptions;
use serde_json::json;

use crate::running::Running;

const READER: &str = "reader-0123456789abcdef";
const WRITER: &str = "writer-0123456789abcdef";

#[test]
fn each_path_wants_the_token_that_it_needs() {
    let directory = tempfile::tempdir().unwrap();
    let [path, readers, writers] = ["live", "r", "w"].map(|name| directory.path().join(name));
    StoreOptions::new().create(&path).unwrap().close().unwrap();
    std::fs::write(&readers, READER).unwrap();
    std::fs::write(&writers, WRITER).unwrap();
    let server = Running::new(&[("live", &path)], |config| {
        config.writable = true;
        config.read_tokens = Some(readers);
        config.write_tokens = Some(writers);
    });
    let one = "0000000000000001";
    let search = json!({"fingerprint": one});
    let record = json!({"records": [{"fingerprint": one, "id": 1}]});
    let check = json!({"fingerprint": one, "id": 1});
    for (token, open, read, write) in [
        ("", 200, 401, 401),
        ("unknown-0123456789abcdef", 200, 401, 401),
        (READER, 200, 200, 403),
        (WRITER, 200, 200, 200),
    ] {
        let mut client = match token {
            "" => server.client(),
            token => server.client().with(&format!("Authorization: Bearer {token}")),
        };
        for path in ["/", "/health", "/ready", "/openapi.json"] {
            assert_eq!(client.get(path).status, open, "{path} {token}");
        }
        for path in ["/metrics", "/v1/status", "/v1/stores", "/v1/stores/live"] {
            let reply = client.get(path);
            assert_eq!(reply.status, read, "{path} {token}");
            assert_eq!(reply.header("www-authenticate").is_some(), read == 401);
        }
        assert_eq!(client.post("/v1/stores/live/search", &search).status, read);
        for (change, body) in
            [("insert", &record), ("delete", &record), ("check-and-insert", &check)]
        {
            let reply = client.post(&format!("/v1/stores/live/{change}"), body);
            assert_eq!(reply.status, write, "{change} {token}");
        }
    }
}

#[test]
fn a_page_of_another_site_reaches_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("live");
    StoreOptions::new().create(&path).unwrap().close().unwrap();
    let server = Running::new(&[("live", &path)], |config| config.writable = true);
    // By a name that leads here.
    let mut client = server.client().with("Host: evil.example:7878");
    assert_eq!(client.get("/v1/stores").status, 421);
    assert_eq!(client.get("/health").status, 200);
    // By a form, which a browser sends anywhere.
    let mut client = server.client();
    let body = br#"{"records":[{"fingerprint":"0000000000000001","id":"1"}]}"#;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        assert_eq!(client.ask("POST", "/v1/stores/live/insert", kind, body).status, 415);
    }
    // And what asks first gets no leave.
    let reply = client.ask("OPTIONS", "/v1/stores/live/insert", "application/json", b"");
    assert_eq!(reply.status, 405);
    assert!(!reply.head.to_lowercase().contains("access-control"));
}
