//! Puts the checksums of the files of a store right, whatever else these say: so that damage
//! reaches what stands behind the checksums. It trusts no field, and leaves alone what does not lie
//! in its file. Offsets come from [`crate::spec`].

use std::collections::BTreeMap;
use std::ops::Range;

use crate::spec;

/// The files of a store by their names.
pub type Files = BTreeMap<String, Vec<u8>>;

const MANIFEST: &str = "manifest.fps";
/// Bytes of a chunk with a checksum of its own.
const CHUNK_BYTES: usize = 4096;

/// Mends tables and bases first, since others hold their checksums, and the manifest last.
pub fn mend(files: &mut Files) {
    let is_first = |name: &str| name.ends_with(".fpt") || name.ends_with(".fpb");
    for (name, file) in files.iter_mut().filter(|(name, _)| is_first(name)) {
        let _ = mend_file(name, file);
    }
    let firsts: BTreeMap<String, u32> = files
        .iter()
        .filter(|(name, _)| name.ends_with("-table-000.fpt") || name.ends_with("-base.fpb"))
        .filter_map(|(name, file)| Some((segment_of(name).to_owned(), header_crc(file)?)))
        .collect();
    for (name, file) in files.iter_mut().filter(|(name, _)| !is_first(name)) {
        if let Some(&first) = firsts.get(segment_of(name)) {
            let field = match name.rsplit('.').next() {
                Some("fpi") => Some(("ids-header", "table_crc")),
                Some("fpp") => Some(("part-header", "base_crc")),
                _ => None,
            };
            field.and_then(|(table, field)| set(file, 0, table, field, first.into()));
        }
        let _ = mend_file(name, file);
    }
    if let Some(mut manifest) = files.remove(MANIFEST) {
        let _ = mend_manifest(&mut manifest, files);
        files.insert(MANIFEST.to_owned(), manifest);
    }
}

/// `segment-` and the number of the segment.
fn segment_of(name: &str) -> &str {
    name.get(..24).unwrap_or_default()
}

/// CRC-32, in pieces.
fn crc(pieces: &[&[u8]]) -> u32 {
    let mut crc = flate2::Crc::new();
    pieces.iter().for_each(|piece| crc.update(piece));
    crc.sum()
}

fn range(at: usize, table: &str, field: &str) -> Range<usize> {
    let (offset, bytes) = spec::offsets(table)[field];
    let start = at.saturating_add(offset);
    start..start.saturating_add(bytes.expect("a field has a length"))
}

/// The field of a structure that begins at a place.
fn get(file: &[u8], at: usize, table: &str, field: &str) -> Option<usize> {
    let bytes = file.get(range(at, table, field))?;
    let value = bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    usize::try_from(value).ok()
}

fn set(file: &mut [u8], at: usize, table: &str, field: &str, value: u64) -> Option<()> {
    let bytes = file.get_mut(range(at, table, field))?;
    let count = bytes.len();
    bytes.copy_from_slice(&value.to_le_bytes()[..count]);
    Some(())
}

fn end(table: &str) -> usize {
    spec::offsets(table)["end"].0
}

fn put(file: &mut [u8], at: usize, crc: u32) -> Option<()> {
    file.get_mut(at..at.checked_add(4)?)?.copy_from_slice(&crc.to_le_bytes());
    Some(())
}

fn header_bytes(file: &[u8]) -> Option<usize> {
    let bytes = get(file, 0, "header-prefix", "header_bytes")?;
    (bytes >= 4 && bytes <= file.len()).then_some(bytes)
}

fn header_crc(file: &[u8]) -> Option<u32> {
    let end = header_bytes(file)?;
    file[end - 4..end].try_into().ok().map(u32::from_le_bytes)
}

/// The last four bytes of every file but logs: footer_crc or directory_crc.
fn last_crc(file: &[u8]) -> Option<u32> {
    file.last_chunk().copied().map(u32::from_le_bytes)
}

fn mend_header(file: &mut [u8]) -> Option<u32> {
    let end = header_bytes(file)?;
    let crc = crc(&[&file[..end - 4]]);
    put(file, end - 4, crc)?;
    Some(crc)
}

fn mend_file(name: &str, file: &mut [u8]) -> Option<()> {
    let header = mend_header(file)?.to_le_bytes();
    match name.rsplit('.').next()? {
        "fpt" => mend_table(file, &header),
        "fpb" | "fpp" => mend_chunks(file, &header, 0),
        "fpi" => {
            let count = get(file, 0, "ids-header", "count")?;
            let ids = get(file, 0, "ids-header", "id_count")?;
            let marks = if ids > count { ids } else { 0 };
            mend_chunks(file, &header, marks.div_ceil(32768).checked_mul(8)?)
        }
        "fpn" => mend_names(file, &header),
        "fpd" => {
            let covered = header_bytes(file)?..file.len().checked_sub(4)?;
            let crc = crc(&[&header, file.get(covered.clone())?]);
            put(file, covered.end, crc)
        }
        "fpl" => mend_log(file),
        _ => None,
    }
}

fn mend_table(file: &mut [u8], header: &[u8; 4]) -> Option<()> {
    let of_header = |field| get(file, 0, "table-header", field);
    let footer = file.len().checked_sub(end("table-footer"))?;
    let blocks = get(file, footer, "table-footer", "block_count")?;
    let bits = of_header("fingerprint_bits")?.checked_sub(of_header("cut_bits")?)?;
    let classes = (bits + 1).checked_sub(of_header("low_bits")?)?;
    let block_bytes = of_header("block_bytes")?;
    let router_at = blocks.checked_mul(block_bytes)?.checked_add(4096)?;
    if block_bytes > 4 && router_at <= footer {
        for (number, block) in file[4096..router_at].chunks_exact_mut(block_bytes).enumerate() {
            let crc = crc(&[header, &(number as u64).to_le_bytes(), &block[4..]]);
            put(block, 0, crc);
        }
    }
    let codes_at = router_at.checked_add(blocks.checked_mul(bits / 8)?)?;
    let histogram_at = codes_at.checked_add(classes.next_multiple_of(8))?;
    let parts = [
        ("router_crc", router_at..codes_at),
        ("codes_crc", codes_at..histogram_at),
        ("histogram_crc", histogram_at..histogram_at.checked_add(8 * classes)?),
    ];
    for (field, part) in parts {
        if let Some(part) = file.get(part) {
            let crc = crc(&[header, part]);
            set(file, footer, "table-footer", field, crc.into());
        }
    }
    let at = range(footer, "table-footer", "footer_crc").start;
    let crc = crc(&[header, &file[footer..at]]);
    put(file, at, crc)
}

/// Mends the chunks of a body, and the directory behind it, whose checksums have other bytes before
/// them.
fn mend_chunks(file: &mut [u8], header: &[u8; 4], others: usize) -> Option<()> {
    let (start, end) = (header_bytes(file)?, file.len().checked_sub(4)?);
    let bytes = end.checked_sub(start)?.checked_sub(others)?;
    // So many bytes of body and checksums: each chunk has 4 more.
    let chunks = bytes.div_ceil(CHUNK_BYTES + 4);
    let (body, directory) = file.get_mut(start..end)?.split_at_mut(bytes.checked_sub(4 * chunks)?);
    for (number, chunk) in body.chunks(CHUNK_BYTES).enumerate() {
        let crc = crc(&[header, &(number as u64).to_le_bytes(), chunk]);
        put(directory, others + 4 * number, crc);
    }
    let crc = crc(&[header, directory]);
    put(file, end, crc)
}

fn mend_names(file: &mut [u8], header: &[u8; 4]) -> Option<()> {
    let names = get(file, 0, "names-header", "name_count")?;
    let directory_bytes = get(file, 0, "names-header", "directory_bytes")?;
    let end = file.len().checked_sub(4)?;
    let directory = end.checked_sub(directory_bytes)?;
    let mut start = header_bytes(file)?;
    let entry_bytes = spec::offsets("names-page")["end"].0;
    let pages = names.div_ceil(4096).min(directory_bytes / entry_bytes);
    for page in 0..pages {
        let at = directory + page * entry_bytes;
        let page_end = get(file, at, "names-page", "page_end")?;
        let front_bytes = get(file, at, "names-page", "front_bytes")?;
        let groups = names.saturating_sub(4096 * page).min(4096).div_ceil(64);
        if let Some(bytes) = file.get_mut(start..page_end) {
            mend_page(bytes, header, page * 64..page * 64 + groups, front_bytes);
            if let Some(front) = bytes.get(..front_bytes) {
                let crc = crc(&[header, &(page as u64).to_le_bytes(), front]);
                set(file, at, "names-page", "front_crc", crc.into());
            }
        }
        start = page_end;
    }
    let crc = crc(&[header, &file[directory..end]]);
    put(file, end, crc)
}

fn mend_page(
    page: &mut [u8],
    header: &[u8; 4],
    groups: Range<usize>,
    mut start: usize,
) -> Option<()> {
    let entry_bytes = spec::offsets("names-group")["end"].0;
    for (number, group) in groups.enumerate() {
        let at = number * entry_bytes;
        let group_end = get(page, at, "names-group", "group_end")?;
        let crc = crc(&[header, &(group as u64).to_le_bytes(), page.get(start..group_end)?]);
        set(page, at, "names-group", "group_crc", crc.into());
        start = group_end;
    }
    Some(())
}

fn mend_log(file: &mut [u8]) -> Option<()> {
    let fixed = |field| range(0, "log-header", field);
    let store: Vec<u8> = file.get(fixed("store_id"))?.to_vec();
    let number: Vec<u8> = file.get(fixed("log_number"))?.to_vec();
    let mut at = header_bytes(file)?;
    loop {
        let payload_bytes = get(file, at, "log-record", "payload_bytes")?;
        let header_end = at + end("log-record");
        let crc_of_header = crc(&[&store, &number, file.get(at + 4..header_end)?]);
        put(file, at, crc_of_header)?;
        let end = header_end.checked_add(payload_bytes.checked_add(4)?.next_multiple_of(8))?;
        let covered = file.get(header_end..end - 4)?;
        let crc = crc(&[&crc_of_header.to_le_bytes(), covered]);
        put(file, end - 4, crc)?;
        at = end;
    }
}

/// Copies lengths and checksums of all files to their entries, then mends those of the manifest.
fn mend_manifest(manifest: &mut [u8], files: &Files) -> Option<()> {
    let length = manifest.len() as u64;
    set(manifest, 0, "manifest-header", "file_bytes", length)?;
    let mut at = header_bytes(manifest)?;
    let sections = get(manifest, 0, "manifest-header", "section_count")?;
    mend_header(manifest)?;
    for _ in 0..sections {
        let kind = get(manifest, at, "section-header", "kind")?;
        let bytes = get(manifest, at, "section-header", "payload_bytes")?;
        let start = at.checked_add(end("section-header"))?;
        let payload = manifest.get_mut(start..start.checked_add(bytes)?)?;
        let _ = mend_payload(kind, payload, files);
        let payload_crc = crc(&[payload]);
        set(manifest, at, "section-header", "payload_crc", payload_crc.into())?;
        let crc_at = range(at, "section-header", "header_crc").start;
        let header_crc = crc(&[&manifest[at..crc_at]]);
        put(manifest, crc_at, header_crc)?;
        at = start.checked_add(bytes.checked_next_multiple_of(8)?)?;
    }
    Some(())
}

fn mend_payload(kind: usize, payload: &mut [u8], files: &Files) -> Option<()> {
    // SEGMENT (section 5.4): the others state nothing of files.
    if kind != 2 {
        return Some(());
    }
    let of_payload = |field| get(payload, 0, "segment-section", field);
    let (number, count) = (of_payload("segment_number")?, of_payload("table_count")?);
    let (index, further) = (of_payload("index")?, of_payload("further")?);
    let start = format!("segment-{number:016x}");
    let tables = (0..count).map(|i| match (index, i) {
        (0, i) => format!("{start}-table-{i:03}.fpt"),
        (_, 0) => format!("{start}-base.fpb"),
        (_, i) => format!("{start}-part-{:03}.fpp", i - 1),
    });
    let others = ["ids.fpi", "names.fpn", "deletions.fpd"].into_iter().enumerate();
    let others = others.filter(|(bit, _)| further >> bit & 1 == 1);
    let names = tables.chain(others.map(|(_, name)| format!("{start}-{name}")));
    for (place, name) in names.enumerate() {
        let at = end("segment-section").saturating_add(place.saturating_mul(end("file-entry")));
        if at > payload.len() {
            break;
        }
        mend_entry(payload, files, at, &name);
    }
    Some(())
}

fn mend_entry(payload: &mut [u8], files: &Files, at: usize, name: &str) -> Option<()> {
    let file = files.get(name)?;
    set(payload, at, "file-entry", "file_bytes", file.len() as u64)?;
    set(payload, at, "file-entry", "header_crc", header_crc(file)?.into())?;
    set(payload, at, "file-entry", "end_crc", last_crc(file)?.into())
}
