//! The command line as a whole: subcommands, and the help that is common to them.

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::Failure;
use crate::output::check_stdout;
use crate::{
    backup, bench, compare, completions, corpus, create, dedup, delete, dump, evaluate,
    fingerprint, glossary, insert, join, man, merge_pairs, pack, plan, query, repair, stat, upkeep,
    verify, version,
};

const AFTER_HELP: &str = "\
Examples:
  fpstore plan --n 8e9                           which design for so many?
  fpstore pack hashes.txt -o photos.fps          pack a list of fingerprints
  fpstore pack photos.parquet -o photos.fps --fingerprint-column phash
  fpstore query photos.fps 8f3ac41e09b7d265      which are within the distance?
  fpstore query photos.fps --from new.txt -k 6   many queries, another distance
  fpstore query photos.fps --from new.txt --nearest 10
  fpstore pack pdq.txt -o pdq.fps --bits 256 -k 31
  fpstore stat photos.fps                        how well it is compressed
  fpstore dump photos.fps > sorted.txt           all fingerprints again
  fpstore pack pages.csv -o pages.fps --id-column url
  fpstore query pages.fps 8f3ac41e09b7d265       their urls
  fpstore bench hashes.txt --output report       bytes against latency, measured
  fpstore dedup pages.fps                        near duplicates, which to keep
  fpstore corpus dedup pages.jsonl --id url --recipe simhash-64 -o clean
  fpstore join pages.fps --to pairs.tsv          all pairs within the distance
  fpstore fingerprint pages.jsonl --id url --recipe simhash-64 -o pages.parquet
  fpstore create live.fps --ids text             a store that is written to
  fpstore insert live.fps new.csv --id-column id
  fpstore serve photos.fps                       answer others, over HTTP

Formats of inputs (--format):
  hex      hexadecimal digits (up to 16 of 64 bits), with or without 0x, separated
           by white space; where most have all digits, as many as another width has
           are a fault
  dec      decimal digits, separated by white space; -9223372036854775808 to -1
           stand for the 64 bits of a signed integer (two's complement), as
           databases store them; for 32 and 64 bits
  bin      0 and 1, as often as a fingerprint has bits, separated by white space
  u64le    raw integers of 8 bytes, nothing between them; little-endian, unless
           --byte-order says big
  u32le    the same of 4 bytes, for fingerprints of 32 bits
  npy      NumPy: uint64 (or int64) of shape (n) or (n, bits / 64), uint32 of shape
           (n) or (n, bits / 32), or uint8 of shape (n, bits / 8)
  csv      columns separated by commas, semicolons or bars, with a header; quotes
           enclose fields (RFC 4180)
  tsv      columns separated by tabs, with a header; nothing quotes, and \\t, \\n,
           \\r, \\, and \\\\ stand for what would separate
  columns  columns separated by white space, with a header
  jsonl    an object on each line; the fingerprint is a number or a string
  parquet  columns of type UInt64, Int64 (its 64 bits), FixedSizeBinary(bits / 8),
           binary of as many bytes each, UInt32 and Int32 (32 bits), or strings
  arrow    the same in Arrow IPC: files (Feather) and streams
  auto     judged for each input from its first 64 KiB, then from its name. A
           list is hex if every fingerprint has all its digits (16 of 64 bits) or
           0x; bin if all have as many 0 and 1 as bits; dec if all are decimal and
           it is none of these; raw integers are told by a name such as *.u64 or
           *.bin; if it stays open, an error asks for the format. Where there is a
           store, digits that may be either are hex, as those that it gives, and a
           warning says so

Fingerprints have 64 bits, or with `pack --bits` 32, 128 or 256. Without it a pack
takes the width that its inputs tell: stores, types and shapes of arrays and binary
columns, and texts of 32 or 64 hexadecimal digits each.

All but parquet may be compressed with gzip, zstd, bzip2, xz or lz4, and may come through
a pipe. An input takes little memory, but for a window of zstd or a dictionary of xz
(128 MiB at most), a message of arrow with its columns decompressed (what --memory
allows, or a quarter of what there is), and a page of each column of parquet (the
same, and 256 MiB at most); of these, `pack --memory` counts usual pages.
Strings in columns follow the rule of lists, or --digits; they may be base64 too,
which is told by its padding. The most significant byte comes first in digits,
base64, bytes and arrays of bytes (or last, as --byte-order says), and the most
significant word in arrays of words and in raw integers.

Outputs (--to, -o): a file appears when it is whole. One that is there is replaced with
--force only, and keeps its permissions; a link stays, and what it leads to is replaced.
Devices and pipes are written as they stand; `-` is standard output, and `./-` a file of
that name. What a command reads, and what lies in a store that it uses, is refused.

Exit codes:
  0  done; `query`: something matched; `serve`: a signal ended it
  1  `query`: nothing matched; `bench compare`: something got slower;
     `repair`: something was lost
  2  an error, told in one line on standard error; or wrong usage
  129, 130, 143  stopped by SIGHUP, SIGINT or SIGTERM; what writes a file or a
     store has changed nothing, but that `insert` and `delete` keep what they had
     done, and `join --resume` and `corpus dedup` go on when they are called again.
     A signal that was ignored at the start stays ignored (`nohup`, `trap '' INT`)

Environment:
  FPSTORE_SIMD  the most that is used of the vector instructions of the CPU:
     portable, neon, avx2 or avx512. Results do not depend on it; `--version` says
     what is used";

/// Keeps fingerprints compressed, and finds exactly those within Hamming distance k
#[derive(Parser)]
#[command(name = "fpstore", version, long_version = version::long(), max_term_width = 100)]
#[command(after_long_help = AFTER_HELP)]
#[command(after_help = "`fpstore --help` has examples, the input formats and the exit codes; \
                        `fpstore glossary` explains the words.")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Plan(plan::Args),
    Pack(pack::Args),
    Create(create::Args),
    Insert(insert::Args),
    Delete(delete::Args),
    Flush(upkeep::FlushArgs),
    Merge(upkeep::MergeArgs),
    Expire(upkeep::ExpireArgs),
    Backup(backup::Args),
    Repair(repair::Args),
    Query(query::Args),
    Join(join::Args),
    MergePairs(merge_pairs::Args),
    Dedup(dedup::Args),
    Fingerprint(fingerprint::Args),
    Compare(compare::Args),
    Evaluate(evaluate::Args),
    Corpus(corpus::Args),
    Stat(stat::Args),
    Verify(verify::Args),
    Dump(dump::Args),
    #[cfg(feature = "serve")]
    Serve(crate::serve::Args),
    Bench(bench::Args),
    Glossary(glossary::Args),
    Man(man::Args),
    Completions(completions::Args),
}

impl Cli {
    /// Runs the subcommand and gives the exit code of its success.
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Plan(args) => plan::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Pack(args) => pack::run(args).map(|()| ExitCode::SUCCESS),
            Command::Create(args) => create::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Insert(args) => insert::run(args).map(|()| ExitCode::SUCCESS),
            Command::Delete(args) => delete::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Flush(args) => upkeep::flush(&args).map(|()| ExitCode::SUCCESS),
            Command::Merge(args) => upkeep::merge(&args).map(|()| ExitCode::SUCCESS),
            Command::Expire(args) => upkeep::expire(&args).map(|()| ExitCode::SUCCESS),
            Command::Backup(args) => backup::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Repair(args) => repair::run(&args),
            Command::Query(args) => query::run(args),
            Command::Join(args) => join::run(args).map(|()| ExitCode::SUCCESS),
            Command::MergePairs(args) => merge_pairs::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Dedup(args) => dedup::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Fingerprint(args) => fingerprint::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Evaluate(args) => evaluate::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Compare(args) => compare::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Corpus(args) => corpus::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Stat(args) => stat::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Verify(args) => verify::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Dump(args) => dump::run(&args).map(|()| ExitCode::SUCCESS),
            #[cfg(feature = "serve")]
            Command::Serve(args) => crate::serve::run(&args),
            Command::Bench(_) => bench::run(),
            Command::Glossary(args) => glossary::run(&args).map(|()| ExitCode::SUCCESS),
            Command::Man(args) => man_pages(&args),
            Command::Completions(args) => {
                completions::run(&args, &mut Self::command()).map(|()| ExitCode::SUCCESS)
            }
        }
    }
}

/// Pages of `bench` are those of its program.
fn man_pages(args: &man::Args) -> Result<ExitCode, Failure> {
    match args.command.split_first() {
        Some((name, below)) if name == bench::NAME && bench::is_there() => {
            check_stdout()?;
            bench::hand_over(std::iter::once("man").chain(below.iter().map(String::as_str)))
        }
        _ => {
            man::run(args, Cli::command())?;
            match &args.to {
                Some(directory) if bench::is_there() => {
                    bench::hand_over([OsStr::new("man"), "--to".as_ref(), directory.as_os_str()])
                }
                _ => Ok(ExitCode::SUCCESS),
            }
        }
    }
}
