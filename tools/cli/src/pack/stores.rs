//! Stores as inputs of a pack.

use std::path::Path;

use super::Args;
use super::ids::IdMode;
use fpstore::Fingerprint;

use crate::failure::Failure;
use crate::paths::is_store;
use crate::width;

/// The ids of a pack some of whose inputs may be stores, which bring their own.
pub(super) fn resolve<F: Fingerprint>(args: &Args, mode: IdMode) -> Result<IdMode, Failure> {
    let mut first: Option<(&Path, bool)> = None;
    let refused =
        |path: &Path, what: &str| Err(Failure::Usage(format!("{}: {what}", path.display())));
    for path in args.input.iter().filter(|path| is_store(path)) {
        let store = width::open::<F>(path)?;
        let keeps_ids = store.has_ids() && !args.ids.are_unwanted();
        if keeps_ids && store.id_map().is_some() {
            return refused(
                path,
                "its ids are the numbers of strings in an id map, which another store cannot have; \
                 pack what `dump --ids --id-map` gives, or leave ids out (--ids none)",
            );
        }
        match (&mode, keeps_ids) {
            (IdMode::Line | IdMode::Map(..), _) => {
                return refused(path, "a store brings its own ids; leave --ids and --id-map out");
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
