//! The long help of the commands.

/// That of `corpus dedup`.
pub const DEDUP: &str = "\
Examples:
  fpstore corpus dedup crawl.jsonl.zst --id-column url -o clean
  fpstore corpus dedup crawl/ --text-column body --id-column url -o clean \\
      --keep longest --verify jaccard:0.8
  fpstore corpus dedup new.parquet --id-column url -o c --against seen.fps --add

The recipe is onebit-256 where none is given, with k = 40: Jaccard 0.8 and more.

Results, in DIR:
  documents/       what is kept: a file for each input, of its name and format
  removed.jsonl    a row for each document that is removed: cluster, id, kept,
                   matched, distance, why, kept_in, jaccard
  report.json, report.txt, notes.fpstore/   counts; for corpus report and decide

Documents with too few features are compared exactly. What has no text is kept.

--keep, of equal documents the earlier in the inputs:
  first, longest, smallest-id   as they come; by bytes of the text; by the id
  central                       by how many documents are near
  max:COLUMN, priority:COLUMN   by a number, the greatest first, or the least
  priority:COLUMN=A,B,C         by the place of the value in the list

--clusters, in that order:
  star         a document is kept unless it is near one that is kept before it
  complete     a document joins the first cluster all of which is near it
  components   documents that are linked by pairs, over however many others

A command that was killed goes on when it is given again. It takes 1 GiB of
memory unless --memory says otherwise, and --json prints report.json. The manual
has more, under \"Cleaning a corpus of documents\".";

/// That of `corpus report`.
pub const REPORT: &str = "\
Examples:
  fpstore corpus dedup crawl.jsonl.zst --id-column url -o clean
  fpstore corpus report clean -o report.html

The page says how many documents were removed and why; shows, side by side and
with their differences marked, ten pairs just within the threshold, of which
one was removed, and ten pairs just beyond it, which were kept; counts the
distances; and shows the largest clusters. So a person sees in some minutes
whether k is right.

It is one file without scripts, and asks for nothing from the network. What
stands in documents is text there and nothing else; characters that are not
seen stand as their numbers, such as U+202E.

The inputs are read once more, where they were when corpus dedup ran. They must
not have changed. Of methods for which one equal value is enough (bands)
nothing is known beyond the threshold.";

/// That of `corpus decide`.
pub const DECIDE: &str = "\
Examples:
  fpstore corpus dedup crawl.jsonl.zst --id-column url -o clean
  fpstore corpus report clean -o report.html
  fpstore corpus decide clean -k 32
  fpstore corpus decide clean --keep longest --clusters complete

The results in DIR are replaced by those that corpus dedup would have given
with these options; what is not given stays as it was. Fingerprints were noted,
so that no document is read to decide. The inputs are read once more to write
what is kept (but for --write nothing), and once for --verify; they must not
have changed.

--keep can be changed from and to longest, first, smallest-id and central. What
goes by a column stays: of others nothing was noted. After --add nothing is
decided again: the documents would be near themselves in the store.

A command that was killed goes on when it is given again. Until it is done, DIR
has no report, and results that are not whole.";
