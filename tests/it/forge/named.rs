//! Cases of section 3.6: stores whose ids are names.

use super::Base::FewIds;
use super::names_writer::{Name, NamesSpec};
use super::{Case, Forge, case};

const NAMES: u64 = 10;
/// The flags of its kind: *critical* and *writers*.
const FLAGS: u64 = 3;
/// More than the greatest id of the base, and as many as that.
const ENOUGH: usize = 70;
const TOO_FEW: usize = 69;

fn urls(count: usize) -> Vec<Name> {
    let name = |i: usize| format!("https://{}.example/{i:03}", (b'a' + (i / 30) as u8) as char);
    (0..count).map(|i| name(i).into_bytes()).collect()
}

/// The payload of a NAMES section for the segment of the forge, whose list these names are.
fn payload(f: &mut Forge, kind: (u16, u16), names: &[Name]) -> Vec<u8> {
    let file = NamesSpec::new(names).write();
    let mut payload = [kind.0.to_le_bytes(), kind.1.to_le_bytes()].concat();
    payload.extend(1u32.to_le_bytes());
    payload.extend([24, 0, 0, 0, 0, 0, 0, 0]);
    payload.extend(1u64.to_le_bytes());
    payload.extend((file.len() as u64).to_le_bytes());
    payload.extend(&file[172..176]);
    payload.extend(&file[file.len() - 4..]);
    f.files.insert("segment-0000000000000001-names.fpn".into(), file);
    payload
}

/// Names the ids of the base, with a payload that was changed.
fn name(f: &mut Forge, kind: (u16, u16), count: usize, change: impl Fn(&mut Vec<u8>)) {
    let mut payload = payload(f, kind, &urls(count));
    change(&mut payload);
    f.insert_section(3, NAMES, FLAGS, &payload);
}

#[rustfmt::skip]
pub fn cases() -> Vec<Case> {
    vec![
        case("bad-dir-02-no-names", "DIR-2", FewIds, "The names file is missing.", |f| {
            name(f, (1, 0), ENOUGH, |_| {});
            f.files.remove("segment-0000000000000001-names.fpn");
        }),
        case("bad-dls-01-names-too-short", "DLS-1", FewIds, "The payload of the NAMES section has 15 bytes.", |f| name(f, (1, 0), ENOUGH, |payload| payload.truncate(15))),
        case("bad-dls-02-names-entry-bytes-16", "DLS-2", FewIds, "entry_bytes of NAMES is 16.", |f| name(f, (1, 0), ENOUGH, |payload| payload[8] = 16)),
        case("bad-nms-01-twice", "NMS-1", FewIds, "There are two NAMES sections.", |f| {
            name(f, (1, 0), ENOUGH, |_| {});
            name(f, (1, 0), ENOUGH, |_| {});
        }),
        case("unsupported-nms-02-kind-0", "NMS-2", FewIds, "name_kind is 0.", |f| name(f, (0, 0), ENOUGH, |_| {})),
        case("unsupported-nms-02-kind-5", "NMS-2", FewIds, "name_kind is 5.", |f| name(f, (5, 0), ENOUGH, |_| {})),
        case("unsupported-nms-03-reserved", "NMS-3", FewIds, "The last reserved byte of NAMES is not zero.", |f| name(f, (1, 0), ENOUGH, |payload| payload[15] = 1)),
        case("bad-nms-04-text-of-21-bytes", "NMS-4", FewIds, "Names are text, and name_bytes is 21.", |f| name(f, (1, 21), ENOUGH, |_| {})),
        case("bad-nms-04-uuids-of-21-bytes", "NMS-4", FewIds, "Names are UUIDs, and name_bytes is 21.", |f| name(f, (2, 21), ENOUGH, |_| {})),
        case("bad-nms-04-numbers-of-8-bytes", "NMS-4", FewIds, "Names are integers, and name_bytes is 8.", |f| name(f, (3, 8), ENOUGH, |_| {})),
        case("bad-nms-04-keys-of-no-bytes", "NMS-4", FewIds, "Names are keys, and name_bytes is 0.", |f| name(f, (4, 0), ENOUGH, |_| {})),
        case("bad-nms-05-other-segment", "NMS-5", FewIds, "The entry of NAMES is of segment 2.", |f| name(f, (1, 0), ENOUGH, |payload| payload[16] = 2)),
        case("bad-nms-05-no-entry", "NMS-5", FewIds, "NAMES has no entry, and the segment has ids.", |f| name(f, (1, 0), ENOUGH, |payload| {
            payload[4] = 0;
            payload.truncate(16);
        })),
        case("bad-nms-06-id-of-name-count", "NMS-6", FewIds, "An id is name_count, one more than the greatest number of a name.", |f| name(f, (1, 0), TOO_FEW, |_| {})),
        case("bad-nms-07-other-length", "NMS-7", FewIds, "Names of 21 bytes are said to be UUIDs.", |f| name(f, (2, 16), ENOUGH, |_| {})),
        case("bad-man-08-names-not-critical", "MAN-8", FewIds, "The NAMES section is not critical.", |f| {
            let payload = payload(f, (1, 0), &urls(ENOUGH));
            f.insert_section(3, NAMES, 2, &payload);
        }),
        case("unsupported-man-10-names-tail", "MAN-10", FewIds, "The tail of the NAMES payload is not zero.", |f| name(f, (1, 0), ENOUGH, |payload| payload.push(1))),
    ]
}

/// Those of them that are to be read.
#[rustfmt::skip]
pub fn good() -> Vec<Case> {
    vec![
        case("good-names", "", FewIds, "Ids are names, which stand in a list of the segment.", |f| name(f, (1, 0), ENOUGH, |_| {})),
        case("good-names-entry-tail", "", FewIds, "An entry of NAMES has 32 bytes.", |f| name(f, (1, 0), ENOUGH, |payload| {
            payload[8] = 32;
            payload.extend([0; 8]);
        })),
        case("good-names-of-21-bytes", "", FewIds, "Names are keys of 21 bytes each.", |f| name(f, (4, 21), ENOUGH, |_| {})),
    ]
}
