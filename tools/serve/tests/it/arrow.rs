//! Batches and records as streams of Arrow.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use fpstore::{Layout, Packer, StoreOptions};
use serde_json::{Value, json};

use crate::running::{Random, Running, hex};
use crate::searches::{near, set};

const ARROW: &str = "application/vnd.apache.arrow.stream";

fn stream(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

/// The rows of an answer: the number of a query, and a match as JSON has it.
fn rows(body: &[u8]) -> Vec<(u32, Value)> {
    let mut rows = Vec::new();
    for batch in StreamReader::try_new(Cursor::new(body), None).unwrap() {
        let batch = batch.unwrap();
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let queries = column("query").as_primitive::<UInt32Type>();
        let distances = column("distance").as_primitive::<UInt32Type>();
        let fingerprints = column("fingerprint").as_fixed_size_binary();
        let ids = column("ids").as_list::<i32>();
        for row in 0..batch.num_rows() {
            let digits: String =
                fingerprints.value(row).iter().map(|byte| format!("{byte:02x}")).collect();
            let ids = ids.value(row);
            let ids = ids.as_primitive::<UInt64Type>().values();
            let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
            let found =
                json!({"fingerprint": digits, "distance": distances.value(row), "ids": ids});
            rows.push((queries.value(row), found));
        }
    }
    rows
}

#[test]
fn a_batch_gives_what_single_searches_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = Random(7);
    let list = set::<[u64; 4]>(&mut random, 2000);
    Packer::new()
        .width::<[u64; 4]>()
        .layout(Layout::new().k(6))
        .pack_with_ids(&path, list.clone())
        .unwrap();
    let server = Running::new(&[("set", &path)], |_| {});
    let queries: Vec<[u64; 4]> = (0..500).map(|place| random.near(list[place * 3].0, 8)).collect();
    let bytes = queries.iter().map(fpstore_bytes);
    let column = FixedSizeBinaryArray::try_from_iter(bytes).unwrap();
    let body = stream(vec![("fingerprint", Arc::new(column))]);
    let reply =
        server.client().ask("POST", "/v1/stores/set/search-batch?k=6&limit=20", ARROW, &body);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some(ARROW)));
    let mut expected = Vec::new();
    for (number, &query) in queries.iter().enumerate() {
        let found = near(&list, query, 6).into_iter().take(20);
        expected.extend(found.map(|found| (number as u32, found)));
    }
    assert!(expected.len() > 500);
    assert_eq!(rows(&reply.body), expected);
}

fn fpstore_bytes(one: &[u64; 4]) -> [u8; 32] {
    fpstore::Fingerprint::to_be_bytes(*one)
}

#[test]
fn records_are_inserted_and_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("live");
    StoreOptions::new().create(&path).unwrap().close().unwrap();
    let server = Running::new(&[("live", &path)], |config| config.writable = true);
    let mut client = server.client();
    let records: Vec<u64> = (1..=1000).map(|i: u64| i << 40 | i).collect();
    let (ones, ids) =
        (records.clone(), records.iter().map(|one| u64::MAX - one).collect::<Vec<_>>());
    let columns = |count: usize| -> Vec<(&str, ArrayRef)> {
        let ones = Arc::new(UInt64Array::from(ones[..count].to_vec()));
        vec![("fingerprint", ones), ("id", Arc::new(UInt64Array::from(ids[..count].to_vec())))]
    };
    let reply =
        client.ask("POST", "/v1/stores/live/insert?durable=system", ARROW, &stream(columns(1000)));
    assert_eq!((reply.status, reply.json()), (200, json!({"records": 1000})));
    let reply = client.ask("POST", "/v1/stores/live/delete", ARROW, &stream(columns(999)));
    assert_eq!(reply.status, 200);
    let body = json!({"fingerprint": hex(records[999]), "k": 0});
    let found = client.post("/v1/stores/live/search", &body).json();
    assert_eq!(found["matches"][0]["ids"], json!([ids[999].to_string()]));
    let body = json!({"fingerprint": hex(records[0]), "k": 0});
    assert_eq!(client.post("/v1/stores/live/search", &body).json()["matches"], json!([]));
}

#[test]
fn what_is_no_stream_of_fingerprints_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("live");
    StoreOptions::new().create(&path).unwrap().close().unwrap();
    let server = Running::new(&[("live", &path)], |config| config.writable = true);
    let mut client = server.client();
    let good = stream(vec![("fingerprint", Arc::new(UInt64Array::from(vec![1, 2, 3])))]);
    let names = stream(vec![("name", Arc::new(StringArray::from(vec!["a"])))]);
    let words = stream(vec![("fingerprint", Arc::new(StringArray::from(vec!["not digits"])))]);
    for body in [&b""[..], b"{}", &good[..good.len() / 2], &names, &words] {
        let reply = client.ask("POST", "/v1/stores/live/search-batch", ARROW, body);
        assert_eq!(reply.status, 400, "{reply:?}");
    }
    // Any byte that is changed gives an answer or a refusal.
    let mut random = Random(1);
    for _ in 0..300 {
        let mut body = good.clone();
        let place = random.next() as usize % body.len();
        body[place] ^= 1 << (random.next() % 8);
        let reply = client.ask("POST", "/v1/stores/live/search-batch", ARROW, &body);
        assert!([200, 400].contains(&reply.status), "byte {place}: {reply:?}");
    }
    // Without ids nothing is inserted here.
    assert_eq!(client.ask("POST", "/v1/stores/live/insert", ARROW, &good).status, 400);
    let reply = client.ask("POST", "/v1/stores/live/search-batch?k=0", ARROW, &good);
    assert_eq!(reply.status, 200);
}
