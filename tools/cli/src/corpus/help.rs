//! The long help of the commands.

/// That of `corpus dedup`.
pub const DEDUP: &str = "\
Examples:
  fpstore corpus dedup crawl.jsonl.zst --id-column url -o clean
  fpstore corpus dedup crawl/ --text-column body --id-column url -o clean --keep longest \\
      --verify jaccard:0.8
  fpstore corpus dedup books/ --recipe supershingles -o clean       plain files
  fpstore corpus dedup new.parquet --id-column url -o clean --against seen.fps --add

The recipe is onebit-256 where none is given, with k = 40: it finds every pair with a
Jaccard similarity of 0.8 and more, and hardly any under 0.5; simhash-64 at k = 3
finds a third to a half of them.

Results, in DIR:
  documents/       what is kept: a file for each input, of the same name, format and
                   compression, with all columns. Lines and records are copied byte
                   by byte, rows of Parquet with the schema of the file
  removed.jsonl    (or .csv or .parquet, as the first input is) a row for each
                   document that is removed: cluster, id, kept (the id
                   of the document that is kept instead), matched (that of the one
                   that it is near: the one that is kept, but for components),
                   distance (to the matched one), why (exact: the text is that of the
                   matched one; or near), kept_in (input or store), jaccard (with
                   --verify)
  report.json, report.txt   settings and counts
  notes.fpstore/   what was noted of the documents, some 100 bytes of each: corpus report and
                   corpus decide need it, and nothing else; it may be deleted

--write annotated writes all documents, each with columns behind its own, which stay byte
for byte: cluster (its number; those with removed documents have the numbers of
the table), cluster_size (with the document that is kept), kept (the id of the
document that is kept: its own, or another one), distance (to that one), why (kept,
exact, near, or known from the store). PREFIX stands before these names. --write nothing
leaves documents/ out: the table says what to delete elsewhere.

Near: documents agree by the rule of the recipe: within K bits, or as many equal values
as the method asks for. Those with the same text, as the recipe prepares it, are exact
duplicates, and the best of them stands for the others. Documents with too few features
are compared exactly only. What has no text, or an empty one, is a duplicate of nothing:
it is kept, and counted in the report. The distance is in bits; for methods with several values it
is the number that differ, or the percentage of the union that is not common.

--keep orders the documents; of equal ones the earlier in the inputs comes first:
  first        as they come
  longest      by the bytes of the text, the most first
  smallest-id  by the id; whole numbers by value, before all others
  central      by how many documents are near, the most first
  max:COLUMN, priority:COLUMN   by a number, the greatest first, or the least
  priority:COLUMN=A,B,C         by the place of the value in the list
Where a column has nothing, the document comes last.

--clusters, in that order:
  star         a document is kept unless it is near one that is kept before it. So what
               is removed is near what is kept instead. Of several such ones the
               nearest is named, of equally near ones the first in the order
  complete     a document joins the first cluster all of which is near it. Of each one
               the first is kept
  components   documents that are linked by pairs, directly or over others; the first
               is kept, and matched is the nearest one, which may be removed itself, as
               may the one whose text an exact duplicate has. Such chains can link documents
               that have nothing in common

--verify reads the inputs once more, and takes only pairs whose sets of features (of the
recipe, such as its word 3-grams) are so similar:
  jaccard:0.8       four fifths of the features of both are common
  containment:0.9   nine tenths of the features of the smaller set are in the other, as
                    of a short text inside a longer one, which --keep longest keeps.
It checks the pairs that the recipe finds, and finds no others: a text inside one of twice
its length differs from it in some 64 of 256 bits (onebit-256 -k 80), and one inside a
much longer one is found by no recipe. The table has the Jaccard similarity in any case.

--against compares with what an earlier corpus holds, by fingerprints alone, whatever
--verify says, since its texts are not there. --add inserts what is kept, with its ids,
as names in a store that is created where none is there; in a store whose ids are
numbers they must be whole numbers. What comes out is as if all had come in one run, but
for documents with too few features, which are not in a store of fingerprints.
  By a recipe with several values (bands, minhash, supershingles, imatch, spotsigs,
sentences) the store holds keys of them, one for each value, and says so. Its names are an
id, a blank and eight characters of a hash of the text: an id may come again with another
text. Documents with too few features, or with fewer values than must be equal, are there
too, by their texts, and are found if the text is the same. A document takes some 8 bytes
for each key, and its name; minhash-128 has 128 keys, bands-20x6 has 20. Of minhash with
few keep-bits each key is that of many documents, and comparing takes long.

A command that was killed goes on when it is given again; only deciding, which takes a
tenth of the time, starts over. After an error before the first result, other settings and
mended inputs start again in DIR. DIR with results of others is refused, and so is DIR in a
directory of inputs. Of a command that is done the report comes again; a result that was
deleted since is an error. --wait 10s waits for another process that works in DIR or
writes to the store. The result depends neither on threads nor on memory.

Memory: --memory, from 32 MiB and 64 bytes per document on, 192 with --against, and with
--keep smallest-id what the ids take. An eighth of it is for documents in flight; a document
that is larger by itself takes what it takes.";

/// That of `corpus report`.
pub const REPORT: &str = "\
Examples:
  fpstore corpus dedup crawl.jsonl.zst --id-column url -o clean
  fpstore corpus report clean -o report.html

The page says how many documents were removed and why; shows, side by side and with their
differences marked, ten pairs just within the threshold, of which one was removed, and ten
pairs just beyond it, which were kept; counts the distances; and shows the
largest clusters. So a person sees in some minutes whether k is right.

It is one file without scripts, and asks for nothing from the network. What stands in
documents is text there and nothing else; characters that are not seen stand as their
numbers, such as U+202E.

The inputs are read once more, where they were when corpus dedup ran. They must not have
changed. Of methods for which one equal value is enough (bands) nothing is known beyond
the threshold.";

/// That of `corpus decide`.
pub const DECIDE: &str = "\
Examples:
  fpstore corpus dedup crawl.jsonl.zst --id-column url -o clean
  fpstore corpus report clean -o report.html
  fpstore corpus decide clean -k 32
  fpstore corpus decide clean --keep longest --clusters complete

The results in DIR are replaced by those that corpus dedup would have given with these
options; what is not given stays as it was. Fingerprints were noted, so that no
document is read to decide. The inputs are read once more to write what is kept (but for
--write nothing), and once for --verify; they must not have changed.

--keep can be changed from and to longest, first, smallest-id and central. What goes by a
column stays: of others nothing was noted. After --add nothing is decided again: the
documents would be near themselves in the store.

A command that was killed goes on when it is given again. Until it is done, DIR has no
report, and results that are not whole.";
