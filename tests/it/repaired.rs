//! Repairs of small stores of every width, of which bytes are flipped and ends are cut: what was
//! saved and what is said to be lost make up all that was stored.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fpstore::maintenance::{Repair, RepairReport};
use fpstore::{
    Design, Execution, Fingerprint, Layout, OpenOptions, Packer, StoreOptions, WriterOptions,
};

use crate::damage::overwrite;
use crate::sets::Random;

/// Bytes of a chunk of a base, as the format document has it.
const CHUNK: usize = 4096;

/// The ids of each fingerprint; none in a store without.
type Model<F> = BTreeMap<F, Vec<u64>>;

fn fingerprint<F: Fingerprint>(random: &mut Random) -> F {
    let mut bytes = F::Bytes::default();
    bytes.as_mut().iter_mut().for_each(|byte| *byte = random.next() as u8);
    F::from_be_bytes(bytes)
}

/// One to three ids for each, so long that they fill several chunks.
fn model<F: Fingerprint>(seed: u64, count: usize) -> Model<F> {
    let mut random = Random(seed);
    let one = |number: usize| {
        let one = fingerprint(&mut random);
        let mut ids: Vec<u64> = (0..1 + number % 3).map(|_| random.next()).collect();
        ids.sort_unstable();
        (one, ids)
    };
    (0..count).map(one).collect()
}

fn pairs<F: Fingerprint>(model: &Model<F>) -> Vec<(F, u64)> {
    let all = model.iter().flat_map(|(&one, ids)| ids.iter().map(move |&id| (one, id)));
    all.collect()
}

/// What a store holds.
fn contents<F: Fingerprint>(path: &Path) -> Model<F> {
    let store = OpenOptions::new().width::<F>().open(path).unwrap();
    store.verify().unwrap();
    let all = store.iter_with_ids::<u64>().map(|entry| {
        let (one, ids) = entry.unwrap();
        (one, ids.collect::<Result<_, _>>().unwrap())
    });
    all.collect()
}

/// A store in a directory of its own, of which files are damaged and brought back.
struct Sample<F> {
    directory: tempfile::TempDir,
    model: Model<F>,
    with_ids: bool,
}

/// A change of one file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    Flip(usize),
    Cut(usize),
    Gone,
}

impl<F: Fingerprint> Sample<F> {
    fn path(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    fn packed(packer: Packer<F>, count: usize, with_ids: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut model = model::<F>(u64::from(F::BITS) + count as u64, count);
        if with_ids {
            packer.pack_with_ids(directory.path().join("store"), pairs(&model)).unwrap();
        } else {
            model.values_mut().for_each(Vec::clear);
            packer.pack(directory.path().join("store"), model.keys().copied()).unwrap();
        }
        Self { directory, model, with_ids }
    }

    /// The files whose names end so.
    fn files(&self, end: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> =
            entries.filter(|path| path.to_str().is_some_and(|path| path.ends_with(end))).collect();
        files.sort();
        assert!(!files.is_empty(), "{end}");
        files
    }

    /// Damages a file, repairs the store into another one, and brings the file back. Whatever is
    /// lost, what is saved was stored, and the numbers of the report are those of the saved store.
    fn repaired(&self, file: &Path, damage: Damage) -> (RepairReport, Model<F>) {
        let sound = fs::read(file).unwrap();
        match damage {
            Damage::Flip(at) => {
                let mut bytes = sound.clone();
                bytes[at] ^= 1 << (at % 8);
                overwrite(file, &bytes);
            }
            Damage::Cut(length) => overwrite(file, &sound[..length]),
            Damage::Gone => fs::remove_file(file).unwrap(),
        }
        let saved = self.directory.path().join("saved");
        let repair = Repair::new().execution(Execution::new().threads(1));
        let report = repair.run(self.path(), &saved).unwrap();
        let held = contents::<F>(&saved);
        fs::remove_dir_all(saved).unwrap();
        overwrite(file, &sound);
        let what = format!("{damage:?} of {}: {report:?}", file.display());
        for (one, ids) in &held {
            let own = self.model.get(one).unwrap_or_else(|| panic!("{one:?} is new, {what}"));
            assert!(ids.iter().all(|id| own.contains(id)), "{what}");
        }
        assert_eq!(report.fingerprints, held.len() as u64, "{what}");
        assert_eq!(report.ids as usize, held.values().map(Vec::len).sum::<usize>(), "{what}");
        if report.is_whole() {
            assert_eq!(held, self.model, "{what}");
        }
        (report, held)
    }

    /// The same of a file of the only segment, all of whose losses are told: with what is saved
    /// they make up all.
    fn adds_up(&self, file: &Path, damage: Damage) -> (RepairReport, Model<F>) {
        let (report, held) = self.repaired(file, damage);
        let what = format!("{damage:?} of {}: {report:?}", file.display());
        assert_eq!((&report.manifest, &report.problems[..]), (&None, &[][..]), "{what}");
        let (mut lost, mut lost_ids) = (0, Some(0));
        if let Some(loss) = report.segments.first() {
            assert_eq!((loss.segment, loss.count), (1, self.model.len() as u64));
            lost = loss.fingerprints + loss.without_ids;
            lost_ids = loss.ids;
        }
        assert_eq!(held.len() as u64 + lost, self.model.len() as u64, "{what}");
        let all_ids: usize = self.model.values().map(Vec::len).sum();
        match lost_ids {
            Some(lost) => assert_eq!(report.ids + lost, all_ids as u64, "{what}"),
            None => assert_eq!((report.ids, held.len()), (0, 0), "{what}"),
        }
        assert_eq!(report.is_whole(), held == self.model, "{what}");
        (report, held)
    }
}

/// About so many places of a file, its ends among them.
fn places(bytes: usize, count: usize) -> impl Iterator<Item = usize> {
    // No multiple of 8, so that all bits of a byte have their turn.
    let step = (bytes / count).max(1) | 1;
    (0..bytes).step_by(step).chain((bytes - 40.min(bytes)..bytes).step_by(3))
}

/// Damages all over the files of a base and its part tables.
fn check_base<F: Fingerprint>(parts: u16, with_ids: bool) {
    let row = F::BITS as usize / 8;
    // Three chunks, the last of them not full.
    let count = 2 * CHUNK / row + 37;
    let packer = Packer::new().width::<F>().layout(Layout::new().parts(parts));
    let sample = Sample::<F>::packed(packer, count, with_ids);
    let [base] = &sample.files("-base.fpb")[..] else { panic!("one base") };
    let length = fs::metadata(base).unwrap().len() as usize;
    let rows = count * row;
    let header = length - rows - 4 * rows.div_ceil(CHUNK) - 4;
    let fingerprints: Vec<F> = sample.model.keys().copied().collect();
    for at in places(length, 60) {
        let (report, held) = sample.adds_up(base, Damage::Flip(at));
        let mut expected = sample.model.clone();
        if (header..header + rows).contains(&at) {
            let chunk = (at - header) / CHUNK;
            let lost = fingerprints.chunks(CHUNK / row).nth(chunk).unwrap();
            expected.retain(|one, _| !lost.contains(one));
            assert_eq!(report.segments[0].blocks, 1, "{report:?}");
        }
        // Header and CRCs are not needed.
        assert_eq!(held, expected, "byte {at}: {report:?}");
        assert!(!report.segments.is_empty(), "byte {at} is damaged");
    }
    for at in places(length, 12) {
        let (report, held) = sample.adds_up(base, Damage::Cut(at));
        // The CRCs stand behind the rows.
        let expected = if at < header + rows { 0 } else { count };
        assert_eq!(held.len(), expected, "cut at {at}: {report:?}");
        assert!(!report.segments.is_empty());
    }
    let (report, held) = sample.adds_up(base, Damage::Gone);
    assert_eq!((held.len(), report.segments[0].tables), (0, 1));
    if parts > 0 {
        for part in sample.files(".fpp") {
            let length = fs::metadata(&part).unwrap().len() as usize;
            let flips = places(length, 12).map(Damage::Flip);
            let cuts = places(length, 3).map(Damage::Cut);
            for damage in flips.chain(cuts).chain([Damage::Gone]) {
                let (report, _) = sample.adds_up(&part, damage);
                let loss = &report.segments[0];
                assert!(report.is_whole() && loss.tables + loss.blocks > 0, "{damage:?}");
            }
        }
    }
    if with_ids {
        check_ids(&sample);
    }
    check_manifest(&sample);
}

/// Damages all over the file of ids.
fn check_ids<F: Fingerprint>(sample: &Sample<F>) {
    assert!(sample.with_ids);
    let [ids] = &sample.files("-ids.fpi")[..] else { panic!("one file of ids") };
    let length = fs::metadata(ids).unwrap().len() as usize;
    let flips = places(length, 50).map(Damage::Flip);
    let cuts = places(length, 6).map(Damage::Cut);
    let mut lost = 0;
    for damage in flips.chain(cuts).chain([Damage::Gone]) {
        let (report, held) = sample.adds_up(ids, damage);
        assert!(!report.is_whole() && report.segments[0].fingerprints == 0, "{damage:?}");
        lost += usize::from(!held.is_empty());
    }
    assert!(lost > 10, "damage of a chunk leaves the others: {lost}");
}

/// Damages all over the manifest: all else is there.
fn check_manifest<F: Fingerprint>(sample: &Sample<F>) {
    let manifest = sample.path().join("manifest.fps");
    let length = fs::metadata(&manifest).unwrap().len() as usize;
    let flips = places(length, 20).map(Damage::Flip);
    let cuts = places(length, 4).map(Damage::Cut);
    for damage in flips.chain(cuts).chain([Damage::Gone]) {
        let (report, held) = sample.repaired(&manifest, damage);
        assert!(report.manifest.is_some() && !report.is_whole(), "{damage:?}: {report:?}");
        assert!(report.segments.is_empty() && report.problems.is_empty(), "{report:?}");
        assert_eq!(held, sample.model, "{damage:?}");
    }
}

#[test]
fn what_a_repair_saves_of_a_base_and_what_it_says_is_lost_add_up_at_every_width() {
    check_base::<u32>(4, true);
    check_base::<u64>(4, false);
    check_base::<u64>(3, true);
    check_base::<u128>(5, true);
    check_base::<u128>(0, false);
    check_base::<[u64; 4]>(6, true);
    check_base::<[u64; 4]>(3, false);
}

/// Damages all over the files of tables.
fn check_tables<F: Fingerprint>() {
    let packer = |design: &str| {
        let design = Design::named_for(F::BITS, design).unwrap();
        Packer::new().width::<F>().layout(Layout::new().design(design).block_bytes(256))
    };
    // So many that their blocks take as much at every width.
    let count = 800 * 64 / F::BITS as usize;
    for with_ids in [false, true] {
        let sample = Sample::packed(packer("halves"), count, with_ids);
        for table in sample.files(".fpt") {
            let length = fs::metadata(&table).unwrap().len() as usize;
            let flips = places(length, 60).map(Damage::Flip);
            let cuts = places(length, 6).map(Damage::Cut);
            for damage in flips.chain(cuts).chain([Damage::Gone]) {
                // The other table has all.
                let (report, _) = sample.adds_up(&table, damage);
                assert!(report.is_whole(), "{damage:?}: {report:?}");
            }
            let (report, _) = sample.adds_up(&table, Damage::Gone);
            assert_eq!(report.segments[0].tables, 1, "{report:?}");
        }
        if with_ids {
            check_ids(&sample);
        }
        check_manifest(&sample);
        // One table alone, or short ones behind it: a damaged block is lost.
        let sample = Sample::packed(packer("single"), count, with_ids);
        check_only_table(&sample);
        if F::BITS == u64::BITS {
            let sample = Sample::packed(
                packer("quarters").with_layout(|it| it.short_tables(true)),
                count,
                with_ids,
            );
            check_only_table(&sample);
            for table in &sample.files(".fpt")[1..] {
                let length = fs::metadata(table).unwrap().len() as usize;
                let cuts = places(length, 6).map(Damage::Cut);
                let all = places(length, 40).map(Damage::Flip).chain(cuts).chain([Damage::Gone]);
                for damage in all {
                    let (report, _) = sample.adds_up(table, damage);
                    assert!(report.is_whole(), "{damage:?}: {report:?}");
                }
            }
        }
    }
}

/// Damages all over the file of the only table that holds fingerprints.
fn check_only_table<F: Fingerprint>(sample: &Sample<F>) {
    let table = &sample.files(".fpt")[0];
    let length = fs::metadata(table).unwrap().len() as usize;
    let mut lost = 0;
    for at in places(length, 80) {
        let (report, _) = sample.adds_up(table, Damage::Flip(at));
        lost += usize::from(!report.is_whole());
    }
    assert!(lost > 40, "{lost}");
}

#[test]
fn what_a_repair_saves_of_tables_and_what_it_says_is_lost_add_up() {
    check_tables::<u32>();
    check_tables::<u64>();
}

/// Damages all over the log and the deletions of a store that is written to.
fn check_living<F: Fingerprint>() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut model = model::<F>(7, 120);
    model.values_mut().for_each(|ids| ids.truncate(1));
    let all = pairs(&model);
    let options = || WriterOptions::new().width::<F>().background(false);
    let writer = StoreOptions::new().width::<F>().create(&path).unwrap();
    writer.insert_batch(&all[..60]).unwrap();
    writer.flush().unwrap();
    writer.close().unwrap();
    let writer = options().open(&path).unwrap();
    let gone: Vec<F> = all[..10].iter().map(|pair| pair.0).collect();
    writer.delete_fingerprints(&gone).unwrap();
    writer.insert_batch(&all[60..80]).unwrap();
    writer.flush().unwrap();
    for pair in &all[80..] {
        writer.insert_batch(&[*pair]).unwrap();
    }
    writer.close().unwrap();
    let deleted: Vec<(F, Vec<u64>)> =
        gone.iter().map(|one| (*one, model.remove(one).unwrap())).collect();
    let mut sample = Sample { directory, model, with_ids: true };
    let [log] = &sample.files(".fpl")[..] else { panic!("one log") };
    let length = fs::metadata(log).unwrap().len() as usize;
    let (report, _) = sample.repaired(log, Damage::Cut(length));
    assert!(report.is_whole(), "{report:?}");
    let in_segments = 70;
    for at in places(length, 40) {
        let (report, held) = sample.repaired(log, Damage::Flip(at));
        assert!(held.len() >= in_segments, "{report:?}");
        // A record behind it, or the note of the log, says that something is missing.
        assert!(!report.is_whole() || held == sample.model, "{report:?}");
        assert!(!report.problems.is_empty() || held == sample.model, "byte {at}: {report:?}");
    }
    // What was deleted is back where deletions are lost, and that is said.
    let [deletions] = &sample.files("-deletions.fpd")[..] else { panic!("one list") };
    let length = fs::metadata(deletions).unwrap().len() as usize;
    let alive = sample.model.clone();
    sample.model.extend(deleted);
    for damage in places(length, 20).map(Damage::Flip).chain([Damage::Gone]) {
        let (report, held) = sample.repaired(deletions, damage);
        assert_eq!(report.problems.len(), 1, "{damage:?}: {report:?}");
        assert!(held == sample.model || held == alive, "{damage:?}");
    }
}

#[test]
fn damaged_logs_and_deletions_of_every_width_are_told() {
    check_living::<u32>();
    check_living::<u64>();
    check_living::<u128>();
    check_living::<[u64; 4]>();
}
