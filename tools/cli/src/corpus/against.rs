//! A store of an earlier corpus, whose documents are not to come again.

use std::path::{Path, PathBuf};

use fpstore::{Fingerprint, IdMap, Packer, Store, width_of};
use fpstore_text::Recipe;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::cluster::NONE;
use super::fates::{Fates, OldMatch, Why};
use super::ledger::{Notes, SIGNED};
use super::per_thread::PerThread;
use crate::failure::Failure;
use crate::output::hex;
use crate::recipes::Recipes;
use crate::width::{for_width, open};

/// Documents that are packed together.
const PIECE: usize = 1 << 13;

/// The store, opened.
pub struct Earlier {
    path: PathBuf,
    bits: u32,
    recipe: String,
    k: u32,
    map: Option<PathBuf>,
}

impl Earlier {
    /// Opens a store for fingerprints of so many bits.
    pub fn open(
        path: &Path,
        bits: u32,
        recipe: &Recipe,
        k: u32,
        map: Option<&Path>,
        add: bool,
    ) -> Result<Self, Failure> {
        let recipe = recipe.to_string();
        if add && !path.exists() {
            for_width!(bits, create(path, k, &recipe))?;
        }
        let found = width_of(path)?;
        if found != bits {
            return Err(Failure::Usage(format!(
                "{}: has fingerprints of {found} bits, and the recipe makes some of {bits}; give the recipe of the store",
                path.display()
            )));
        }
        let mut recipes = Recipes::default();
        recipes.take("--recipe", Some(&recipe))?;
        for_width!(bits, say_recipe(path, &mut recipes))?;
        recipes.tell();
        Ok(Self { path: path.to_path_buf(), bits, recipe, k, map: map.map(Path::to_path_buf) })
    }

    /// The id of the store, and its generation.
    pub fn state(&self) -> Result<(String, u64), Failure> {
        for_width!(self.bits, state(&self.path))
    }

    /// Removes those documents that are near one of the store.
    pub fn remove_near(
        &self,
        documents: &[u32],
        notes: &Notes,
        fates: &mut Fates,
        pool: &ThreadPool,
    ) -> Result<(), Failure> {
        let found = for_width!(self.bits, near(self, documents, notes, pool))?;
        for (document, old) in found {
            fates.why[document as usize] = Why::Old;
            fates.old.insert(document, old);
        }
        Ok(())
    }

    /// Adds what is kept to the store, in one commit, unless that was done since it had this generation.
    pub fn add(&self, notes: &Notes, fates: &Fates, generation: u64) -> Result<(), Failure> {
        for_width!(self.bits, add(self, notes, fates, generation))
    }
}

/// Takes what the store says of its recipe.
fn say_recipe<F: Fingerprint>(path: &Path, recipes: &mut Recipes) -> Result<(), Failure> {
    recipes.take(path.display(), open::<F>(path)?.snapshot().recipe())
}

fn create<F: Fingerprint>(path: &Path, k: u32, recipe: &str) -> Result<(), Failure> {
    let mut session = Packer::new().width::<F>().radius(k).recipe(recipe).start(path)?;
    session.extend_with_ids(&[])?;
    session.finish()?;
    Ok(())
}

fn state<F: Fingerprint>(path: &Path) -> Result<(String, u64), Failure> {
    let store = open::<F>(path)?;
    Ok((format!("{:032x}", store.id()), store.generation()))
}

/// For each document that is near some of the store the nearest of these; of several, the least fingerprint, and its least id.
fn near<F: Fingerprint>(
    earlier: &Earlier,
    documents: &[u32],
    notes: &Notes,
    pool: &ThreadPool,
) -> Result<Vec<(u32, OldMatch)>, Failure> {
    let store = open::<F>(&earlier.path)?;
    let map = earlier.map.as_ref().map(|map| IdMap::of_store(map, &store)).transpose()?;
    let searchers = PerThread::new(pool.current_num_threads(), || store.searcher());
    let found: Vec<Option<(u32, OldMatch)>> = pool.install(|| {
        let found = documents.par_iter().map(|&document| {
            let mut bytes = Vec::new();
            notes.signature(document, &mut bytes)?;
            let fingerprint = F::from_be_slice(&bytes).unwrap_or_default();
            let nearest = searchers.with(|searcher| {
                let found = searcher.search(fingerprint, earlier.k)?;
                Ok::<_, Failure>(found.first().map(|found| (found.fingerprint, found.distance)))
            })?;
            let Some((fingerprint, distance)) = nearest else { return Ok(None) };
            let id = name(&store, map.as_ref(), fingerprint)?;
            Ok(Some((document, OldMatch { id, distance })))
        });
        found.collect::<Result<_, Failure>>()
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// What the first document with a fingerprint is called.
fn name<F: Fingerprint>(
    store: &Store<F>,
    map: Option<&IdMap>,
    fingerprint: F,
) -> Result<String, Failure> {
    Ok(match (store.ids(fingerprint)?.next().transpose()?, map) {
        (Some(id), Some(map)) => map.string(id)?,
        (Some(id), None) => id.to_string(),
        (None, _) => hex(fingerprint),
    })
}

fn add<F: Fingerprint>(
    earlier: &Earlier,
    notes: &Notes,
    fates: &Fates,
    generation: u64,
) -> Result<(), Failure> {
    if open::<F>(&earlier.path)?.generation() != generation {
        return Ok(());
    }
    let packer = Packer::new().width::<F>().recipe(&earlier.recipe).append(true);
    let mut session = packer.start(&earlier.path)?;
    let (mut piece, mut bytes) = (Vec::with_capacity(PIECE), Vec::new());
    let (mut count, mut in_order) = (0u64, notes.in_order()?);
    for document in 0..notes.documents {
        if !fates.keeps(document as usize) || notes.kinds[document as usize] != SIGNED {
            continue;
        }
        in_order.signature(document, &mut bytes)?;
        // Ids were checked when they were read.
        let id = notes.id(document)?.parse().unwrap_or(u64::from(NONE));
        piece.push((F::from_be_slice(&bytes).unwrap_or_default(), id));
        count += 1;
        if piece.len() == PIECE {
            session.extend_with_ids(&piece)?;
            piece.clear();
        }
    }
    if count > 0 {
        session.extend_with_ids(&piece)?;
        session.finish()?;
    }
    Ok(())
}
