//! Cases of section 10.1: stores whose ids are names.

use super::Base::FewIds;
use super::names_writer::{Name, NamesSpec};
use super::writer::{NAMES, add_file};
use super::{Case, Forge, Place, case};

/// More than the greatest id of the base, and as many as that.
pub const ENOUGH: usize = 70;
const TOO_FEW: usize = 69;

pub fn urls(count: usize) -> Vec<Name> {
    let name = |i: usize| format!("https://{}.example/{i:03}", (b'a' + (i / 30) as u8) as char);
    (0..count).map(|i| name(i).into_bytes()).collect()
}

/// Names the ids of the base by so many names, of this name_kind and name_bytes.
fn name(f: &mut Forge, kind: (u64, u64), count: usize) {
    name_by(f, kind, &urls(count));
}

fn name_by(f: &mut Forge, kind: (u64, u64), names: &[Name]) {
    let file = NamesSpec::new(names).write();
    let mut payload = f.payload(1).to_vec();
    add_file(&mut payload, NAMES, &file);
    f.replace_segment(&payload);
    f.files.insert("segment-0000000000000001-names.fpn".into(), file);
    f.set(Place::Store, "name_kind", kind.0);
    f.set(Place::Store, "name_bytes", kind.1);
    f.reseal_manifest();
}

#[rustfmt::skip]
pub fn cases() -> Vec<Case> {
    vec![
        case("bad-dir-02-no-names", "DIR-2", FewIds, "The names file is missing.", |f| {
            name(f, (1, 0), ENOUGH);
            f.files.remove("segment-0000000000000001-names.fpn");
        }),
        case("unsupported-sto-05-kind-5", "STO-5", FewIds, "name_kind is 5.", |f| name(f, (5, 0), ENOUGH)),
        case("bad-sto-06-text-of-21-bytes", "STO-6", FewIds, "Names are text, and name_bytes is 21.", |f| name(f, (1, 21), ENOUGH)),
        case("bad-sto-06-uuids-of-21-bytes", "STO-6", FewIds, "Names are UUIDs, and name_bytes is 21.", |f| name(f, (2, 21), ENOUGH)),
        case("bad-sto-06-numbers-of-8-bytes", "STO-6", FewIds, "Names are integers, and name_bytes is 8.", |f| name(f, (3, 8), ENOUGH)),
        case("bad-sto-06-keys-of-no-bytes", "STO-6", FewIds, "Names are keys, and name_bytes is 0.", |f| name(f, (4, 0), ENOUGH)),
        case("bad-sto-06-numbers-of-8-bytes-each", "STO-6", FewIds, "Ids are no names, and name_bytes is 8.", |f| {
            f.set(Place::Store, "name_bytes", 8);
            f.reseal_manifest();
        }),
        case("bad-seg-05-no-names", "SEG-5", FewIds, "Ids are names, and a segment with ids has no names file.", |f| {
            f.set(Place::Store, "name_kind", 1);
            f.reseal_manifest();
        }),
        case("bad-seg-05-names-of-numbers", "SEG-5", FewIds, "A segment has a names file, and ids are no names.", |f| name(f, (0, 0), ENOUGH)),
        case("bad-seg-05-names-without-ids", "SEG-5", FewIds, "A segment has a names file and no ids.", |f| {
            name(f, (1, 0), ENOUGH);
            let mut payload = f.payload(1).to_vec();
            let tables = f.get(Place::Segment, "table_count") as usize;
            let ids = super::end("segment-section") + tables * 16;
            payload.drain(ids..ids + 16);
            payload[51] = NAMES;
            f.replace_segment(&payload);
        }),
        case("bad-nam-13-id-of-name-count", "NAM-13", FewIds, "An id is name_count, one more than the greatest number of a name.", |f| name(f, (1, 0), TOO_FEW)),
        case("bad-nam-14-last-too-short", "NAM-14", FewIds, "Names are keys of 21 bytes, and the last one has 20.", |f| {
            let mut names = urls(ENOUGH);
            *names.last_mut().expect("there are names") = b"https://c.example/07".to_vec();
            name_by(f, (4, 21), &names);
        }),
        case("bad-nam-14-other-length", "NAM-14", FewIds, "Names of 21 bytes are said to be UUIDs.", |f| name(f, (2, 16), ENOUGH)),
    ]
}

/// Those of them that are to be read.
#[rustfmt::skip]
pub fn good() -> Vec<Case> {
    vec![
        case("good-names", "", FewIds, "Ids are names, which stand in a list of the segment.", |f| name(f, (1, 0), ENOUGH)),
        case("good-names-of-21-bytes", "", FewIds, "Names are keys of 21 bytes each.", |f| name(f, (4, 21), ENOUGH)),
    ]
}
