//! Stores keep the recipe of their fingerprints, and do not mix those of two.

use std::path::Path;
use std::time::Duration;

use fpstore::maintenance::{Backup, Repair};
use fpstore::query::JoinEvent;
use fpstore::{Error, Packer, Store, StoreOptions, WriterOptions};

const LINE: &str = "text/1 simhash bits=64 größe=3";
const OTHER: &str = "text/1 simhash bits=64 größe=4";

fn recipe(path: &Path) -> Option<String> {
    let store = Store::open(path).unwrap();
    store.verify().unwrap();
    assert!(store.skipped_sections().is_empty());
    store.recipe()
}

fn is_of_both(error: &Error) -> bool {
    let message = error.to_string();
    matches!(error, Error::Recipes { .. }) && message.contains(LINE) && message.contains(OTHER)
}

#[test]
fn a_recipe_stays_through_all_that_a_store_lives_through() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    Packer::new().recipe(LINE).pack(at("packed"), [1u64, 2, 3]).unwrap();
    assert_eq!(recipe(&at("packed")).as_deref(), Some(LINE));
    Packer::new().recipe(LINE).width::<u128>().pack(at("wide"), [1, 2, 3]).unwrap();
    let wide = fpstore::OpenOptions::new().width::<u128>().open(at("wide")).unwrap();
    assert_eq!(wide.snapshot().recipe(), Some(LINE));

    Packer::new().append(true).recipe(LINE).pack(at("packed"), [4u64]).unwrap();
    let options = WriterOptions::new().background(false);
    let writer = options.clone().open(at("packed")).unwrap();
    writer.insert_fingerprints(&[5]).unwrap();
    writer.flush().unwrap();
    writer.merge_all().unwrap();
    writer.insert_fingerprints(&[6]).unwrap();
    assert_eq!(writer.snapshot().recipe(), Some(LINE));
    writer.close().unwrap();
    assert_eq!(recipe(&at("packed")).as_deref(), Some(LINE));
    assert_eq!(Store::open(at("packed")).unwrap().iter().count(), 6);

    Backup::new().run(at("packed"), at("copy")).unwrap();
    assert_eq!(recipe(&at("copy")).as_deref(), Some(LINE));
    Repair::new().run(at("packed"), at("saved")).unwrap();
    assert_eq!(recipe(&at("saved")).as_deref(), Some(LINE));

    let day = Some(Duration::from_secs(24 * 60 * 60));
    let created = StoreOptions::new().recipe(LINE).window(day).writer(options);
    created.create(at("news")).unwrap().close().unwrap();
    assert_eq!(recipe(&at("news")).as_deref(), Some(LINE));
    Repair::new().run(at("news"), at("news saved")).unwrap();
    assert_eq!(recipe(&at("news saved")).as_deref(), Some(LINE));

    // What takes the place of a store is made as its own pack says.
    Packer::new().replace(true).pack(at("packed"), [7u64]).unwrap();
    assert_eq!(recipe(&at("packed")), None);
}

#[test]
fn what_was_made_by_another_recipe_is_not_appended_and_the_store_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Packer::new().recipe(LINE).pack(&path, [1u64, 2]).unwrap();
    let append = || Packer::new().append(true);
    let refused = append().recipe(OTHER).check_target(&path).unwrap_err();
    assert!(is_of_both(&refused), "{refused}");
    assert!(refused.to_string().starts_with(&path.display().to_string()), "{refused}");
    let refused = append().recipe(OTHER).pack(&path, [3u64]).unwrap_err();
    assert!(is_of_both(&refused), "{refused}");
    assert_eq!(Store::open(&path).unwrap().iter().count(), 2);
    // Of these nobody has said anything.
    append().pack(&path, [3u64]).unwrap();
    assert_eq!(recipe(&path).as_deref(), Some(LINE));
    let unknown = directory.path().join("unknown");
    Packer::new().pack(&unknown, [1u64]).unwrap();
    append().recipe(LINE).pack(&unknown, [2u64]).unwrap();
    assert_eq!(recipe(&unknown), None);
}

#[test]
fn stores_of_different_recipes_are_not_joined() {
    let directory = tempfile::tempdir().unwrap();
    let store = |name: &str, recipe: Option<&str>| {
        let path = directory.path().join(name);
        let packer = recipe.into_iter().fold(Packer::new(), Packer::recipe);
        packer.pack(&path, [1u64, 2]).unwrap();
        Store::open(path).unwrap()
    };
    let (one, other) = (store("one", Some(LINE)), store("other", Some(OTHER)));
    let (same, unknown) = (store("same", Some(LINE)), store("unknown", None));
    let refused = one.join(&other, 1).run(|_: JoinEvent<'_>| ()).unwrap_err();
    assert!(is_of_both(&refused), "{refused}");
    let refused = one.join(&other, 1).pairs().unwrap_err();
    assert!(is_of_both(&refused), "{refused}");
    for with in [&same, &unknown] {
        assert_eq!(one.join(with, 1).run(|_: JoinEvent<'_>| ()).unwrap().pairs, 2);
    }
    assert_eq!(one.self_join(3).run(|_: JoinEvent<'_>| ()).unwrap().pairs, 1);
}

#[test]
fn a_recipe_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    for line in ["", "two\nlines", &"x".repeat(4097)] {
        let refused = Packer::new().recipe(line).pack(&path, [1u64]).unwrap_err();
        assert!(matches!(refused, Error::InvalidOption { option: "recipe", .. }), "{refused}");
        let refused = StoreOptions::new().recipe(line).create(&path).unwrap_err();
        assert!(matches!(refused, Error::InvalidOption { option: "recipe", .. }), "{refused}");
        assert!(!path.exists());
    }
}
