//! Names files that are vectors: good ones, and damaged ones.

use super::names_writer::{Name, NamesSpec, NamesVector, Part, entry_of, leb128, list};

/// 70 names: two groups.
fn hosts() -> Vec<Name> {
    let path = |number: usize| ["index.html", "a/b", "img/x.png"][number % 3];
    let name = |number| format!("https://h{:02}.example/{}", number / 4, path(number));
    let name = |number| format!("{}?{}", name(number), number % 4).into_bytes();
    sorted((0..70).map(name).collect())
}

/// 4,200 names: two pages.
fn numbers() -> Vec<Name> {
    (0..4200).map(|number| format!("{number:04}").into_bytes()).collect()
}

fn sorted(mut names: Vec<Name>) -> Vec<Name> {
    names.sort();
    names.dedup();
    names
}

/// Lengths around the borders of one, two and three bytes, for what is shared and for the bits.
fn lengths() -> Vec<Name> {
    let mut names = vec![vec![], b"x".to_vec()];
    for length in [126, 127, 128, 129, 16_382, 16_383, 16_384, 16_385, 65_533, 65_534] {
        names.push([vec![b'y'; length], b"x".to_vec()].concat());
        names.push(vec![b'y'; length]);
    }
    names.push(vec![b'y'; 65_535]);
    sorted(names)
}

fn text() -> Vec<Name> {
    let names = ["\u{e9}", "\u{ea}t\u{e9}", "\u{1F600}", "\u{1F601}", "plain", ""];
    sorted(names.iter().map(|name| name.as_bytes().to_vec()).collect())
}

/// All of them.
pub fn names() -> Vec<NamesVector> {
    let mut vectors = good();
    vectors.extend(headers());
    vectors.extend(directories());
    vectors.extend(pages());
    vectors.extend(lists());
    vectors.extend(meanings());
    vectors
}

fn good() -> Vec<NamesVector> {
    let of = |name, sentence, spec: NamesSpec| {
        let (file, names) = (spec.write(), spec.names);
        let is_text = names.iter().all(|name| std::str::from_utf8(name).is_ok());
        NamesVector { name, rule: "", sentence, entry: entry_of(&file, is_text), file, names }
    };
    let good = |name, sentence, names: Vec<Name>| of(name, sentence, NamesSpec::new(&names));
    let mut minor = NamesSpec::new(&hosts()).write();
    minor[10] = 7;
    super::reseal_header(&mut minor);
    // The CRCs cover that of the header, so all is written anew.
    let minor = NamesSpec::new(&hosts()).write_with(|part, bytes| {
        if part == Part::Header {
            bytes[10] = 7;
        }
    });
    let minor = NamesVector {
        name: "good-minor-7",
        rule: "",
        sentence: "version_minor is 7.",
        entry: entry_of(&minor, true),
        file: minor,
        names: hosts(),
    };
    let mut bytes: Vec<Name> = (0..=255).map(|byte| vec![byte]).collect();
    bytes.insert(0, vec![]);
    let mut depth = NamesSpec::new(&(b'a'..=b'l').map(|byte| vec![b'z', byte]).collect::<Vec<_>>());
    for (number, byte) in (b'a'..=b'l').enumerate() {
        depth.lengths[usize::from(byte)] = (number as u8 + 1).min(11);
    }
    depth.lengths[usize::from(b'z')] = 0;
    vec![
        good("good", "70 names: two groups.", hosts()),
        good("good-empty", "No names.", vec![]),
        good("good-one", "One name, which is empty.", vec![vec![]]),
        good("good-two", "Two names, and a single code of one bit.", vec![vec![], b"a".to_vec()]),
        good("good-bytes", "The empty name and all names of one byte.", bytes),
        good("good-text", "Names that are no ASCII, and share half a character.", text()),
        good("good-lengths", "Lengths in one, two and three bytes, up to 65,535.", lengths()),
        good("good-pages", "4,200 names: two pages, and a last group of 40 names.", numbers()),
        good("good-65", "65 names: a group without a list.", numbers()[..65].to_vec()),
        of("good-depth", "Codes of 1 to 11 bits.", depth),
        minor,
    ]
}

fn bad(
    name: &'static str,
    rule: &'static str,
    sentence: &'static str,
    file: Vec<u8>,
) -> NamesVector {
    let entry = entry_of(&file, true);
    NamesVector { name, rule, sentence, file, entry, names: Vec::new() }
}

/// `good`, with one part changed.
fn changed(wanted: Part, change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    changed_of(&hosts(), wanted, change)
}

fn changed_of(names: &[Name], wanted: Part, change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    NamesSpec::new(names).write_with(|part, bytes| {
        if part == wanted {
            change(bytes);
        }
    })
}

fn set(bytes: &mut [u8], at: usize, value: u64, count: usize) {
    bytes[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
}

fn headers() -> Vec<NamesVector> {
    let good = NamesSpec::new(&hosts()).write();
    let header = |change: fn(&mut Vec<u8>)| changed(Part::Header, change);
    let with = |change: fn(&mut Vec<u8>)| {
        let mut file = good.clone();
        change(&mut file);
        file
    };
    let code = |change: fn(&mut [u8])| {
        let mut spec = NamesSpec::new(&hosts());
        let names = std::mem::take(&mut spec.names);
        let lengths = spec.lengths.clone();
        spec = NamesSpec { lengths, ..NamesSpec::new(&names) };
        let mut lengths = spec.lengths.clone();
        change(&mut lengths);
        spec.write_with(|part, bytes| {
            if part == Part::Header {
                for (byte, pair) in bytes[40..168].iter_mut().zip(lengths.chunks(2)) {
                    *byte = pair[0] | pair[1] << 4;
                }
            }
        })
    };
    let one = |length: u8| {
        let names = [vec![], b"a".to_vec()];
        let names = if length == 1 { &names[..1] } else { &names };
        changed_of(names, Part::Header, |bytes| bytes[40 + usize::from(b'a') / 2] = length << 4)
    };
    let mut short =
        bad("bad-fil-01-names-longer", "FIL-1", "A byte follows the file.", good.clone());
    short.file.push(0);
    let mut cut = bad("bad-fil-01-names-cut", "FIL-1", "The last byte is missing.", good.clone());
    cut.file.pop();
    let mut other =
        bad("bad-fil-02-names-other", "FIL-2", "The manifest means another file.", good.clone());
    other.entry.header_crc ^= 1;
    let beyond = with(|file| {
        file.truncate(176);
        file[12] = 184;
    });
    vec![
        bad("bad-pre-01-cut", "PRE-1", "The file has 23 bytes.", good[..23].to_vec()),
        bad("bad-pre-02-magic", "PRE-2", "magic is that of an ids file.", with(|f| f[4] = b'I')),
        bad("bad-pre-03-beyond", "PRE-3", "header_bytes is 184 in a file of 176 bytes.", beyond),
        bad(
            "bad-pre-04-header-crc",
            "PRE-4",
            "A bit of name_bytes is flipped.",
            with(|f| f[24] ^= 1),
        ),
        bad("unsupported-pre-05-version-2", "PRE-5", "version_major is 2.", header(|h| h[8] = 2)),
        bad(
            "unsupported-pre-06-short",
            "PRE-6",
            "The header has 168 bytes.",
            header(|h| {
                h.truncate(168);
                h[12] = 168;
            }),
        ),
        bad(
            "unsupported-pre-06-longer",
            "PRE-6",
            "The header has 184 bytes.",
            header(|h| {
                h.splice(172..172, [0; 8]);
                h[12] = 184;
            }),
        ),
        short,
        cut,
        other,
        bad("unsupported-pre-07-reserved", "PRE-7", "reserved is 1.", header(|h| h[168] = 1)),
        bad(
            "unsupported-pre-07-before-nam-01",
            "PRE-7",
            "reserved is 1, and a code has 12 bits.",
            header(|h| {
                h[168] = 1;
                h[40] = 12;
            }),
        ),
        bad("bad-nam-01-12-bits", "NAM-1", "A code has 12 bits.", code(|l| l[0] = 12)),
        bad("bad-nam-01-15-bits", "NAM-1", "A code has 15 bits.", code(|l| l[255] = 15)),
        bad("bad-nam-01-no-code", "NAM-1", "70 names, and no code.", code(|l| l.fill(0))),
        bad("bad-nam-01-too-many", "NAM-1", "A code too many.", code(|l| l[0] = 11)),
        bad(
            "bad-nam-01-incomplete",
            "NAM-1",
            "A code is missing.",
            code(|l| l[usize::from(b'h')] = 0),
        ),
        bad("bad-nam-01-one-of-2-bits", "NAM-1", "A single code, of 2 bits.", one(2)),
        bad("bad-nam-01-one-name", "NAM-1", "One name, and a code.", one(1)),
    ]
}

fn directories() -> Vec<NamesVector> {
    let good = NamesSpec::new(&hosts()).write();
    let header = |at: usize, value: u64| changed(Part::Header, move |h| set(h, at, value, 8));
    let entry = |at: usize, change: fn(u64) -> u64, count: usize| {
        changed_of(&numbers(), Part::Entries, move |bytes| {
            let mut value = [0; 8];
            value[..count].copy_from_slice(&bytes[at..at + count]);
            set(bytes, at, change(u64::from_le_bytes(value)), count);
        })
    };
    let mut crc = bad(
        "bad-fil-03-names-directory-crc",
        "FIL-3",
        "A bit of the directory is flipped.",
        good.clone(),
    );
    let at = crc.file.len() - 5;
    crc.file[at] ^= 1;
    let mut other = bad(
        "bad-fil-04-names-other",
        "FIL-4",
        "The manifest means another directory.",
        good.clone(),
    );
    other.entry.directory_crc ^= 1;
    let mut directory_of_none = changed_of(&[], Part::Header, |h| set(h, 32, 3, 8));
    directory_of_none.truncate(176);
    let header_crc: [u8; 4] = *directory_of_none.last_chunk().expect("a header");
    directory_of_none.extend(*b"abc");
    directory_of_none.extend(crate::oracle::crc(&[&header_crc, b"abc"]).to_le_bytes());
    let mut page_of_none = changed_of(&[], Part::Header, |_| {});
    page_of_none.splice(176..176, *b"abc");
    let page_of_none =
        bad("bad-nam-03-page-of-none", "NAM-3", "No names, and bytes of a page.", page_of_none);
    let long = changed_of(&[vec![b'a'; 65_536]], Part::Header, |_| {});
    vec![
        bad(
            "bad-nam-02-short",
            "NAM-2",
            "directory_bytes is 23, and there is a page.",
            header(32, 23),
        ),
        bad(
            "bad-nam-02-long",
            "NAM-2",
            "The directory is longer than the file.",
            header(32, 1 << 20),
        ),
        bad("bad-nam-02-huge", "NAM-2", "directory_bytes is 2^64 - 1.", header(32, u64::MAX)),
        bad("bad-nam-02-many", "NAM-2", "name_count is 2^64 - 1.", header(16, u64::MAX)),
        crc,
        other,
        bad(
            "bad-nam-03-front-short",
            "NAM-3",
            "front_bytes has no room for the index.",
            entry(16, |_| 511, 4),
        ),
        bad(
            "bad-nam-03-front-long",
            "NAM-3",
            "The front is longer than the page.",
            entry(16, |_| u64::MAX, 4),
        ),
        bad("bad-nam-03-descends", "NAM-3", "Page 0 ends before it begins.", entry(0, |_| 170, 8)),
        bad(
            "bad-nam-03-beyond",
            "NAM-3",
            "The last page ends in the directory.",
            entry(24, |end| end + 1, 8),
        ),
        bad(
            "bad-nam-03-end",
            "NAM-3",
            "A byte stands between the last page and the directory.",
            entry(24, |end| end - 1, 8),
        ),
        bad("bad-nam-03-huge", "NAM-3", "page_end is 2^64 - 1.", entry(24, |_| u64::MAX, 8)),
        bad(
            "bad-nam-03-name-descends",
            "NAM-3",
            "The second name ends before the first.",
            entry(8, |_| 9, 8),
        ),
        bad("bad-nam-03-name-beyond", "NAM-3", "A name ends behind the text.", entry(32, |_| 9, 8)),
        bad(
            "bad-nam-03-name-before",
            "NAM-3",
            "The last name ends before the text does.",
            entry(32, |_| 7, 8),
        ),
        bad("bad-nam-03-name-long", "NAM-3", "The first name has 65,536 bytes.", long),
        bad("bad-nam-03-text-of-none", "NAM-3", "No names, and a text.", directory_of_none),
        page_of_none,
    ]
}

fn pages() -> Vec<NamesVector> {
    let index = |at: usize, change: fn(u32) -> u32| {
        changed(Part::Index(0), move |bytes| {
            let value = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
            set(bytes, at, change(value).into(), 4);
        })
    };
    let flipped = |at: usize| {
        let mut file = NamesSpec::new(&hosts()).write();
        file[at] ^= 1;
        file
    };
    vec![
        bad("bad-nam-04-front", "NAM-4", "A bit of an index is flipped.", flipped(176)),
        bad("bad-nam-04-heads", "NAM-4", "A bit of the heads is flipped.", flipped(176 + 17)),
        bad("bad-nam-05-in-front", "NAM-5", "The first group ends in the front.", index(0, |_| 3)),
        bad(
            "bad-nam-05-descends",
            "NAM-5",
            "The second group ends before the first one.",
            index(8, |_| 40),
        ),
        bad(
            "bad-nam-05-beyond",
            "NAM-5",
            "The last group ends behind the page.",
            index(8, |end| end + 1),
        ),
        bad(
            "bad-nam-05-short",
            "NAM-5",
            "The last group ends before the page does.",
            index(8, |end| end - 1),
        ),
        bad("bad-nam-05-huge", "NAM-5", "A group ends at 2^32 - 1.", index(0, |_| u32::MAX)),
        bad("bad-nam-06-group", "NAM-6", "A bit of a group is flipped.", flipped(176 + 100)),
    ]
}

/// A file of so many names of the bytes `a` to `d`, with codes of 2 bits, whose group is as given.
fn of_group(count: usize, first: &str, group: Vec<u8>) -> Vec<u8> {
    let mut names = vec![first.as_bytes().to_vec()];
    names.extend((1..count).map(|number| [vec![b'd'; number], b"abcd".to_vec()].concat()));
    changed_of(&names, Part::Group(0), |bytes| bytes.clone_from(&group))
}

/// The codes of some bytes from `a` to `d`.
fn code(rest: &str) -> Vec<bool> {
    rest.bytes().flat_map(|byte| [byte - b'a' > 1, (byte - b'a') % 2 == 1]).collect()
}

fn lists() -> Vec<NamesVector> {
    let of = |entries: &[(u64, Vec<bool>)]| of_group(entries.len() + 1, "ab", list(entries));
    let raw = |bytes: Vec<u8>| of_group(2, "ab", bytes);
    let single = |bits: Vec<bool>| {
        let names = [vec![], b"a".to_vec()];
        changed_of(&names, Part::Group(0), |bytes| *bytes = list(&[(0, bits.clone())]))
    };
    let first_long = "d".repeat(65_535);
    let long = list(&[(65_535, code("a"))]);
    let very_long = list(&[(65_535, [code("a"), vec![true]].concat())]);
    let half_behind = list(&[(65_534, [code("a"), vec![true]].concat())]);
    let heads = changed(Part::Heads(0), |bytes| {
        *bytes = list(&[(200, NamesSpec::new(&hosts()).bits(b"h"))]);
    });
    vec![
        bad("bad-nam-07-empty", "NAM-7", "A group of two names has no bytes.", raw(vec![])),
        bad(
            "bad-nam-07-cut-integer",
            "NAM-7",
            "An integer ends with the group.",
            raw(vec![0, 0x82]),
        ),
        bad(
            "bad-nam-07-long-integer",
            "NAM-7",
            "shared is 0 in two bytes.",
            raw(vec![0x80, 0, 2, 1]),
        ),
        bad(
            "bad-nam-07-long-bits",
            "NAM-7",
            "bits is 2 in three bytes.",
            raw(vec![0, 0x82, 0x80, 0, 1]),
        ),
        bad(
            "bad-nam-07-four-bytes",
            "NAM-7",
            "shared has four bytes.",
            raw([leb128(1 << 21), vec![2, 1]].concat()),
        ),
        bad("bad-nam-07-no-rest", "NAM-7", "bits is 0.", of(&[(1, vec![])])),
        bad("bad-nam-07-beyond", "NAM-7", "The codes end behind the group.", raw(vec![0, 10, 1])),
        bad("bad-nam-07-byte-behind", "NAM-7", "A byte follows the codes.", raw(vec![0, 2, 1, 0])),
        bad(
            "bad-nam-07-name-missing",
            "NAM-7",
            "There are two names for three.",
            of_group(3, "ab", list(&[(0, code("b"))])),
        ),
        bad("bad-nam-07-padding", "NAM-7", "Padding is not zero.", raw(vec![0, 2, 0x82])),
        bad(
            "bad-nam-07-half-a-code",
            "NAM-7",
            "A rest ends inside a code.",
            of(&[(0, vec![true, false, true])]),
        ),
        bad("bad-nam-07-no-code", "NAM-7", "A bit that is no code.", single(vec![true])),
        bad(
            "bad-nam-07-group-of-none",
            "NAM-7",
            "A group of one name, and so of an empty list, has a byte.",
            changed_of(&numbers()[..65], Part::Group(1), |bytes| bytes.push(0)),
        ),
        bad(
            "bad-nam-07-heads-of-none",
            "NAM-7",
            "A page of one group, and so of an empty list of heads, has a byte for it.",
            changed_of(&numbers()[..2], Part::Heads(0), |bytes| bytes.push(0)),
        ),
        bad(
            "bad-nam-07-of-the-longest",
            "NAM-7",
            "A name has 65,535 bytes, and then half a code.",
            of_group(2, &first_long, half_behind),
        ),
        bad(
            "bad-nam-08-shared",
            "NAM-8",
            "A name takes over three bytes of one with two.",
            of(&[(3, code("a"))]),
        ),
        bad("bad-nam-08-head", "NAM-8", "A head takes over too much.", heads),
        bad(
            "bad-nam-08-huge",
            "NAM-8",
            "A name takes over 2^21 - 1 bytes.",
            of(&[((1 << 21) - 1, code("a"))]),
        ),
        bad("bad-nam-09-long", "NAM-9", "A name has 65,536 bytes.", of_group(2, &first_long, long)),
        bad(
            "bad-nam-09-before-nam-07",
            "NAM-9",
            "A name has 65,536 bytes, and then half a code.",
            of_group(2, &first_long, very_long),
        ),
        bad(
            "bad-nam-10-descends",
            "NAM-10",
            "A name is less than the one before.",
            of(&[(1, code("a"))]),
        ),
        bad("bad-nam-10-equal", "NAM-10", "A name repeats the one before.", of(&[(0, code("ab"))])),
        bad(
            "bad-nam-10-shares-less",
            "NAM-10",
            "A name shares less than it can.",
            of(&[(0, code("abc"))]),
        ),
    ]
}

fn meanings() -> Vec<NamesVector> {
    let mut swapped = hosts();
    swapped[64] = [&swapped[63][..swapped[63].len() - 1], b"!"].concat();
    swapped[0][0] = b'!';
    let mut spec = NamesSpec::new(&swapped);
    spec.names[0][0] = b'h';
    let in_groups = spec.write();
    // All names are as they should be.
    let shared = hosts()[0].iter().zip(&hosts()[64]).take_while(|(a, b)| a == b).count() - 1;
    let in_heads = changed(Part::Heads(0), |bytes| {
        let rest = NamesSpec::new(&hosts()).bits(&hosts()[64][shared..]);
        *bytes = list(&[(shared as u64, rest)]);
    });
    let mut numbers = numbers();
    let last = numbers[4095].clone();
    numbers[4096] = last;
    let in_pages = NamesSpec::new(&numbers).write();
    let name_bytes = changed(Part::Header, |bytes| bytes[24] ^= 1);
    let latin = NamesSpec::new(&[b"a".to_vec(), b"caf\xe9".to_vec()]).write();
    let overlong = NamesSpec::new(&[b"a".to_vec(), b"b\xC0\xAF".to_vec()]).write();
    let surrogate = NamesSpec::new(&[b"a".to_vec(), b"b\xED\xA0\x80".to_vec()]).write();
    let of_name = |name: &[u8]| NamesSpec::new(&[b"a".to_vec(), name.to_vec()]).write();
    let last = of_name(b"b\xED\xBF\xBF");
    let of_three = of_name(b"b\xE0\x9F\xBF");
    let of_four = of_name(b"b\xF0\x8F\xBF\xBF");
    let beyond = of_name(b"b\xF4\x90\x80\x80");
    let half = NamesSpec::new(&[b"a\xc3".to_vec(), b"b".to_vec()]).write();
    vec![
        bad(
            "bad-nam-10-groups",
            "NAM-10",
            "A head is less than the last name before it.",
            in_groups,
        ),
        bad("bad-nam-10-heads", "NAM-10", "A head shares less than it can.", in_heads),
        bad(
            "bad-nam-10-pages",
            "NAM-10",
            "A page begins with the last name of the page before.",
            in_pages,
        ),
        bad(
            "bad-nam-11-name-bytes",
            "NAM-11",
            "name_bytes is not the sum of the lengths.",
            name_bytes,
        ),
        bad("bad-nam-12-latin", "NAM-12", "A name is Latin 1.", latin),
        bad("bad-nam-12-overlong", "NAM-12", "A name has an overlong form.", overlong),
        bad("bad-nam-12-surrogate", "NAM-12", "A name has a surrogate.", surrogate),
        bad("bad-nam-12-last-surrogate", "NAM-12", "A name has the last surrogate.", last),
        bad("bad-nam-12-overlong-3", "NAM-12", "A name has a form of 3 bytes for 2.", of_three),
        bad("bad-nam-12-overlong-4", "NAM-12", "A name has a form of 4 bytes for 3.", of_four),
        bad("bad-nam-12-beyond", "NAM-12", "A name has a character above U+10FFFF.", beyond),
        bad("bad-nam-12-half", "NAM-12", "The first name ends inside a character.", half),
    ]
}
