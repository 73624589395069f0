//! The document of the interface, with what this server has filled in: names, widths, limits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fpstore::IdKind;
use serde_json::{Value, json};

use crate::config::Limits;
use crate::served::Served;

/// The document as it stands for every server.
const DOCUMENT: &str = include_str!("openapi.json");

/// The document of a server with these stores.
pub fn document(stores: &BTreeMap<String, Arc<dyn Served>>, limits: &Limits) -> Vec<u8> {
    // It is a part of the program, and a test reads it.
    let mut document: Value = serde_json::from_str(DOCUMENT).unwrap_or_default();
    let schemas = &mut document["components"]["schemas"];
    if !stores.is_empty() {
        schemas["StoreName"]["enum"] = stores.keys().cloned().collect();
        let digits: BTreeSet<u32> = stores.values().map(|store| store.bits() / 4).collect();
        let digits: Vec<String> =
            digits.iter().map(|count| format!("[0-9a-fA-F]{{{count}}}")).collect();
        schemas["Fingerprint"]["pattern"] = json!(format!("^({})$", digits.join("|")));
        let most_k = stores.values().map(|store| store.most_k()).min();
        schemas["K"]["maximum"] = json!(most_k);
        let mut kinds = stores.values().map(|store| store.kind());
        let first = kinds.next().flatten();
        if kinds.all(|kind| kind == first) {
            of_kind(schemas, first);
        }
    }
    schemas["Limit"]["maximum"] = json!(limits.matches);
    for (schema, list) in
        [("SearchBatch", "fingerprints"), ("Insert", "records"), ("Delete", "records")]
    {
        schemas[schema]["properties"][list]["maxItems"] = json!(limits.records);
    }
    serde_json::to_vec_pretty(&document).unwrap_or_default()
}

/// Says what ids are, where all stores have the same.
fn of_kind(schemas: &mut Value, kind: Option<IdKind>) {
    let Some(kind) = kind else {
        for schema in ["CheckAndInsert", "Insertion", "Deletion"] {
            if let Some(properties) = schemas[schema]["properties"].as_object_mut() {
                properties.remove("id");
            }
        }
        return;
    };
    for schema in ["CheckAndInsert", "Insertion"] {
        schemas[schema]["required"] = json!(["fingerprint", "id"]);
    }
    let text = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let number = |most: u64, pattern: &str| json!({"anyOf": [text(pattern), {"type": "integer", "minimum": 0, "maximum": most}]});
    schemas["Id"] = match kind {
        IdKind::Number => number(u64::MAX, "^([0-9]{1,19}|1[0-7][0-9]{18})$"),
        IdKind::Number128 => number(u64::MAX, "^([0-9]{1,38}|[12][0-9]{38})$"),
        IdKind::Uuid => text("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"),
        IdKind::Bytes(width) => text(&format!("^[0-9a-fA-F]{{{}}}$", 2 * u32::from(width))),
        // So many bytes, in truth.
        _ => json!({"type": "string", "maxLength": 65_535}),
    };
}
