//! The header is what the sources say.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, Language, Style};

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

const BEFORE: &str = "\
/*
 * fpstore: a compressed on-disk store for near-duplicate fingerprints, with exact Hamming search.
 *
 * Made from the sources by cbindgen; do not edit.
 *
 * Fingerprints are bytes, the most significant first: as their hexadecimal digits are written.
 * Functions give a status; what went wrong says fps_last_error(), of the same thread. Handles are
 * freed by whoever got them. Structures with a size in front start from the macro of their name and
 * _INIT, so that programs go on working where a later version has more fields.
 */
";

const BEHIND: &str = "\
/* Structures with all defaults. */
#define FPS_OPEN_OPTIONS_INIT {sizeof(fps_open_options), -1, 0}
#define FPS_PACK_OPTIONS_INIT \\
  {sizeof(fps_pack_options), 64, 3, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL}
#define FPS_CREATE_OPTIONS_INIT \\
  {sizeof(fps_create_options), 64, 3, FPS_ID_NUMBER, 0, NULL, 0, 0, NULL}
#define FPS_WRITER_OPTIONS_INIT {sizeof(fps_writer_options), FPS_DURABILITY_GROUP, 50, 0, 0}
#define FPS_BATCH_OPTIONS_INIT {sizeof(fps_batch_options), UINT64_MAX, 0, 0, 0}
#define FPS_PACK_SUMMARY_INIT {sizeof(fps_pack_summary), 0, 0, 0, 0}
#define FPS_STATS_INIT {sizeof(fps_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}

/* Ids. They point to what they are given, which must stay as long as they are used. */
static inline fps_id fps_id_number(uint64_t number) {
  fps_id id = {FPS_ID_NUMBER, number, NULL, 0};
  return id;
}
static inline fps_id fps_id_text(const char *text) {
  fps_id id = {FPS_ID_TEXT, 0, (const uint8_t *)text, strlen(text)};
  return id;
}
static inline fps_id fps_id_uuid(const uint8_t bytes[16]) {
  fps_id id = {FPS_ID_UUID, 0, bytes, 16};
  return id;
}
static inline fps_id fps_id_number128(const uint8_t bytes[16]) {
  fps_id id = {FPS_ID_NUMBER128, 0, bytes, 16};
  return id;
}
static inline fps_id fps_id_bytes(const uint8_t *bytes, size_t length) {
  fps_id id = {FPS_ID_BYTES, 0, bytes, length};
  return id;
}";

fn versions() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let numbers: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
    let [major, minor, patch] = numbers[..] else { panic!("{version}") };
    format!(
        "\n/* The version of this header; fps_version() gives that of the library. */\n\
         #define FPSTORE_VERSION \"{version}\"\n#define FPSTORE_VERSION_MAJOR {major}\n\
         #define FPSTORE_VERSION_MINOR {minor}\n#define FPSTORE_VERSION_PATCH {patch}\n\
         #define FPSTORE_VERSION_NUMBER {}\n",
        major * 1_000_000 + minor * 1_000 + patch
    )
}

fn generated() -> String {
    let config = Config {
        header: Some(BEFORE.trim_end().to_string()),
        trailer: Some(BEHIND.to_string()),
        include_guard: Some("FPSTORE_H".to_string()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h", "string.h"].map(String::from).into(),
        after_includes: Some(versions()),
        cpp_compat: true,
        language: Language::C,
        style: Style::Both,
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::C,
        line_length: 100,
        tab_width: 2,
        enumeration: EnumConfig::default(),
        ..Config::default()
    };
    let mut builder = Builder::new().with_config(config);
    let sources = fs::read_dir(Path::new(PACKAGE).join("src")).unwrap();
    let mut sources: Vec<_> = sources.map(|entry| entry.unwrap().path()).collect();
    // In the order in which one learns of it.
    let order = [
        "version", "error", "id", "matches", "options", "store", "snapshot", "searcher", "iterate",
        "batch", "stats", "pack", "writer",
    ];
    sources.sort_by_key(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap();
        order.iter().position(|&other| other == name).unwrap_or(order.len())
    });
    for source in sources {
        builder = builder.with_src(source);
    }
    let mut bytes = Vec::new();
    builder.generate().unwrap().write(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

pub fn functions(header: &str) -> BTreeSet<String> {
    let header = header.split("/* Structures with all defaults. */").next().unwrap();
    let of_line = |line: &str| {
        let (before, _) = line.split_once('(')?;
        let name = before.rsplit([' ', '*']).next()?;
        let is_function = name.starts_with("fps_") && !line.trim_start().starts_with("*");
        is_function.then(|| name.to_string())
    };
    header.lines().filter_map(of_line).collect()
}

#[test]
fn the_header_is_what_the_sources_say() {
    let path = Path::new(PACKAGE).join("include/fpstore.h");
    let generated = generated();
    if fs::read_to_string(&path).ok().as_deref() != Some(&generated) {
        let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fpstore.h");
        fs::write(&new, &generated).unwrap();
        panic!("the header is out of date: cp {} {}", new.display(), path.display());
    }
}

#[test]
fn the_list_of_symbols_is_that_of_the_header() {
    let map = fs::read_to_string(Path::new(PACKAGE).join("fpstore.map")).unwrap();
    let listed: Vec<&str> = map.lines().filter_map(|line| line.trim().strip_suffix(';')).collect();
    let listed = listed.into_iter().filter(|name| name.starts_with("fps_")).map(String::from);
    let functions = functions(&generated());
    assert!(functions.len() > 40, "{functions:?}");
    assert_eq!(listed.collect::<BTreeSet<_>>(), functions);
}
