//! SpotSigs: Theobald, Siddharth, Paepcke, *SpotSigs: robust and efficient near duplicate detection
//! in large web collections*, SIGIR 2008.
//!
//! A *spot* begins at each word that is an antecedent. From there the chain goes on `distance`
//! words at a time, and from where it comes to lie to the next word that is no antecedent; after
//! `chain` words it is complete. Its value is word 0 of what the hashes of antecedent and chain
//! combine to. Chains that the text is too short for count for nothing. A text has the set of the
//! values of its spots.

use crate::features::cut_words;
use crate::hash::{combine, token_hash, word};
use crate::recipe::{Antecedents, Cut};

const ENGLISH: &[&str] = &[
    "a", "an", "the", "is", "was", "are", "were", "be", "been", "has", "have", "had", "do", "does",
    "did", "can", "could", "will", "would", "that", "this", "there", "it", "he", "she", "they",
    "said", "to", "of", "in", "on", "for", "with", "as", "by", "at", "from", "and", "or", "not",
];
const CHINESE: &[&str] = &[
    "的", "了", "是", "在", "和", "有", "不", "也", "就", "都", "而", "及", "与", "或", "被", "把",
    "这", "那", "之", "以", "為", "为",
];

/// The spots of a document.
#[derive(Clone, Debug)]
pub(crate) struct Spots {
    // Hashes of the antecedents, ascending.
    antecedents: Vec<u64>,
    distance: usize,
    chain: usize,
    // The hash of each word, and where the next one stands that is no antecedent, from it on.
    tokens: Vec<(u64, usize)>,
    links: Vec<u64>,
    values: Vec<u64>,
}

impl Spots {
    pub(crate) fn new(antecedents: Antecedents, distance: u32, chain: u32, seed: u64) -> Spots {
        let lists: &[&[&str]] = match antecedents {
            Antecedents::English => &[ENGLISH],
            Antecedents::Chinese => &[CHINESE],
            Antecedents::Both => &[ENGLISH, CHINESE],
        };
        let mut hashes: Vec<u64> =
            lists.concat().iter().map(|word| token_hash(word.as_bytes(), seed)).collect();
        hashes.sort_unstable();
        let (distance, chain) = (distance as usize, chain as usize);
        Spots {
            antecedents: hashes,
            distance,
            chain,
            tokens: Vec::new(),
            links: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Takes the spots of `text`; gives how many there were.
    pub(crate) fn take(&mut self, text: &str, cut: Cut, seed: u64) -> u64 {
        let Spots { antecedents, distance, chain, tokens, links, values } = self;
        tokens.clear();
        tokens.shrink_to(1 << 20);
        values.clear();
        values.shrink_to(1 << 20);
        cut_words(text, cut, &mut |word: &[u8], _: usize| {
            let hash = token_hash(word, seed);
            let next = tokens.len() + usize::from(antecedents.binary_search(&hash).is_ok());
            tokens.push((hash, next));
        });
        for index in (0..tokens.len().saturating_sub(1)).rev() {
            if tokens[index].1 > index {
                tokens[index].1 = tokens[index + 1].1;
            }
        }
        for start in 0..tokens.len() {
            if tokens[start].1 == start {
                continue;
            }
            links.clear();
            links.push(tokens[start].0);
            let mut at = start;
            while links.len() <= *chain {
                let Some(&(_, next)) = tokens.get(at + *distance) else { break };
                let Some(&(link, _)) = tokens.get(next) else { break };
                links.push(link);
                at = next;
            }
            if links.len() > *chain {
                values.push(word(combine(links.iter().copied()), 0));
            }
        }
        let count = values.len() as u64;
        values.sort_unstable();
        values.dedup();
        count
    }

    /// The values of the spots, ascending, each once.
    pub(crate) fn values(&self) -> &[u64] {
        &self.values
    }
}
