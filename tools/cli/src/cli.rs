//! The command line as a whole: subcommands, and the help that is common to them.

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::Failure;
use crate::global::{self, Globals};
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
  fpstore corpus dedup pages.jsonl --id-column url -o clean
  fpstore join pages.fps -o pairs.tsv            all pairs within the distance
  fpstore fingerprint pages.jsonl --recipe simhash-64 -o pages.parquet
  fpstore create live.fps --id-type text         a store that is written to
  fpstore insert live.fps new.csv --id-column id
  fpstore serve photos.fps                       answer others, over HTTP

Formats of inputs: --format NAME, or NAME,WORD,...
  auto     told from the first bytes, then from the name. A list is hex if every
           fingerprint has all its digits or 0x, bin if all have as many 0 and 1
           as bits, dec if all are decimal; if it stays open, an error asks
  hex      hexadecimal digits, with or without 0x, separated by white space
  dec      decimal digits; negative ones stand for the 64 bits of a signed
           integer (two's complement), as databases store them
  bin      0 and 1, as often as a fingerprint has bits
  u64le    raw integers of 8 bytes; u32le of 4, for fingerprints of 32 bits
  npy      NumPy: uint64 of shape (n) or (n, bits / 64), uint32, or uint8
  csv, tsv, columns   a table with a header; separated by commas, semicolons or
           bars, by tabs, or by white space
  jsonl    an object on each line; the fingerprint is a number or a string
  parquet, arrow   columns of integers, bytes or strings
Words: no-header (columns have numbers, from 1 on); hex, dec, bin or base64
(how strings in columns are written); big or little (the order of bytes); gzip,
zstd, bzip2, xz or lz4 (told by itself), or uncompressed.

Fingerprints have 64 bits, or with `pack --bits` 32, 128 or 256. Without it a
pack takes the width that its inputs tell.

Outputs (-o): a file appears when it is whole. One that is there is replaced
with --force only. `-` is standard output, and `./-` a file of that name.

Exit codes:
  0  done; `query`: something matched; `serve`: a signal ended it
  1  `query`: nothing matched; `bench compare`: something got slower;
     `repair`: something was lost
  2  an error, told in one line on standard error; or wrong usage
  129, 130, 143  stopped by SIGHUP, SIGINT or SIGTERM; nothing was changed, but
     for what `insert`, `delete` and `join --resume` had done

Environment:
  FPSTORE_SIMD  the most that is used of the vector instructions of the CPU:
     portable, neon, avx2 or avx512; results do not depend on it";

/// Keeps fingerprints compressed, and finds exactly those within Hamming distance k
#[derive(Parser)]
#[command(name = "fpstore", version, long_version = version::long(), max_term_width = 100)]
#[command(after_long_help = AFTER_HELP)]
#[command(after_help = "`fpstore --help` has examples, the input formats and the exit codes; \
                        `fpstore glossary` explains the words.")]
pub struct Cli {
    #[command(flatten)]
    globals: Globals,

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
        let Self { globals, mut command } = self;
        // Of the others all print some, or refuse it themselves.
        let printed = match &command {
            Command::Create(_) => globals.refuse_json("create"),
            Command::Verify(_) => globals.refuse_json("verify"),
            Command::Join(_) => globals.refuse_json("join"),
            Command::MergePairs(_) => globals.refuse_json("merge-pairs"),
            #[cfg(feature = "serve")]
            Command::Serve(_) => globals.refuse_json("serve"),
            Command::Glossary(_) => globals.refuse_json("glossary"),
            Command::Man(_) => globals.refuse_json("man"),
            Command::Completions(_) => globals.refuse_json("completions"),
            _ => Ok(()),
        };
        printed?;
        command.give(globals)?;
        match command {
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

impl Command {
    /// Gives the command the options of all.
    fn give(&mut self, globals: Globals) -> Result<(), Failure> {
        let json = globals.json;
        match self {
            Command::Plan(args) => args.globals = globals,
            Command::Pack(args) => args.globals = globals,
            Command::Create(args) => args.globals = globals,
            Command::Insert(args) => {
                args.globals = globals;
                return args.form.take_json("insert", json && args.unless_near);
            }
            Command::Delete(args) => args.globals = globals,
            Command::Backup(args) => args.globals = globals,
            Command::Repair(args) => args.globals = globals,
            Command::Query(args) => {
                args.globals = globals;
                return args.form.take_json("query", json);
            }
            Command::Join(args) => args.globals = globals,
            Command::MergePairs(args) => args.globals = globals,
            Command::Dedup(args) => {
                args.globals = globals;
                return args.form.take_json("dedup", json);
            }
            Command::Fingerprint(args) => args.globals = globals,
            Command::Evaluate(args) => args.globals = globals,
            Command::Compare(args) => args.globals = globals,
            Command::Stat(args) => args.globals = globals,
            Command::Verify(args) => args.globals = globals,
            Command::Dump(args) => {
                args.globals = globals;
                return args.form.take_json("dump", json);
            }
            Command::Flush(args) => args.common.globals = globals,
            Command::Merge(args) => args.common.globals = globals,
            Command::Expire(args) => args.common.globals = globals,
            #[cfg(feature = "serve")]
            Command::Serve(args) => args.globals = globals,
            Command::Corpus(args) => args.globals = globals,
            Command::Bench(_)
            | Command::Glossary(_)
            | Command::Man(_)
            | Command::Completions(_) => {}
        }
        Ok(())
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
            let root = Cli::command().disable_help_subcommand(true);
            man::run(args, global::hidden_in_commands(root))?;
            match &args.output {
                Some(directory) if bench::is_there() => {
                    bench::hand_over([OsStr::new("man"), "-o".as_ref(), directory.as_os_str()])
                }
                _ => Ok(ExitCode::SUCCESS),
            }
        }
    }
}
