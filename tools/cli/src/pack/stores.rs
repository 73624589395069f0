//! Stores as inputs of a pack.

use std::path::Path;

use super::Args;
use super::ids::{IdMode, Resolved, check_kinds};
use fpstore::{Fingerprint, IdKind};

use crate::failure::Failure;
use crate::paths::is_store;
use crate::width;

/// The ids of a pack some of whose inputs may be stores, which bring their own.
pub(super) fn resolve<F: Fingerprint>(args: &Args, mode: IdMode) -> Result<Resolved, Failure> {
    let mut kinds: Option<(&Path, IdKind)> = None;
    if let Some(store) = &args.append {
        kinds = width::open::<F>(store)?.id_kind().map(|kind| (&**store, kind));
    }
    let mode = mode_of::<F>(args, mode, &mut kinds)?;
    if let (IdMode::Line, Some((store, kind))) = (&mode, kinds)
        && kind.is_named()
    {
        return Err(Failure::Usage(format!(
            "{}: its ids are {kind}, and --ids line gives numbers; name a column (--id-column)",
            store.display()
        )));
    }
    let told = args.ids.kind();
    if let (Some(told), Some((store, kind))) = (told, kinds)
        && told != kind
    {
        return Err(Failure::Usage(format!(
            "{}: its ids are {kind}, and --id-type says {told}; leave --id-type out",
            store.display()
        )));
    }
    let kind = match mode {
        IdMode::None => None,
        IdMode::Line => Some(IdKind::Number),
        _ => kinds.map(|(_, kind)| kind).or(told),
    };
    Ok(Resolved { mode, kind, store: kinds.map(|(store, _)| store.to_path_buf()) })
}

/// Where ids come from; notes of which kind those of stores are.
fn mode_of<'a, F: Fingerprint>(
    args: &'a Args,
    mode: IdMode,
    kinds: &mut Option<(&'a Path, IdKind)>,
) -> Result<IdMode, Failure> {
    let mut first: Option<(&Path, bool)> = None;
    let refused =
        |path: &Path, what: &str| Err(Failure::Usage(format!("{}: {what}", path.display())));
    for path in args.input.iter().filter(|path| is_store(path)) {
        let store = width::open::<F>(path)?;
        let keeps_ids = store.has_ids() && !args.ids.are_unwanted();
        if let Some(found) = store.id_kind().filter(|_| keeps_ids) {
            let (one, kind) = *kinds.get_or_insert((path, found));
            check_kinds((one, Some(kind)), (path, Some(found)))?;
        }
        match (&mode, keeps_ids) {
            (IdMode::Line, _) => {
                return refused(path, "a store brings its own ids; leave --ids out");
            }
            (IdMode::Column(_), false) => {
                return refused(path, "has no ids, and --id-column wants some; pack it apart");
            }
            _ => {}
        }
        match first {
            Some((other, ids)) if ids != keeps_ids => {
                let (with, without) = if ids { (other, &**path) } else { (&**path, other) };
                return refused(
                    without,
                    &format!("has no ids, and {} has; give --ids none", with.display()),
                );
            }
            _ => first = Some((path, keeps_ids)),
        }
    }
    match (first, &mode) {
        (Some((store, true)), IdMode::None) => {
            match args.input.iter().find(|path| !is_store(path)) {
                Some(file) => refused(
                    file,
                    &format!(
                        "gives no ids, and {} has some; name a column (--id-column), or give --ids \
                         none",
                        store.display()
                    ),
                ),
                None => Ok(IdMode::Stored),
            }
        }
        _ => Ok(mode),
    }
}
