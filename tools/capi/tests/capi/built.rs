//! The library as it is installed, and programs that are linked with it.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// Runs a command that must succeed, and gives what it has printed.
pub fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{out}{err}");
    format!("{out}{err}")
}

/// The prefix under which the library is installed, made of the archive that was built with this
/// program.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let archive = env::current_exe().unwrap().with_file_name("libfpstore_capi.a");
        // Of its own: other profiles have other archives.
        let build = archive.with_file_name("capi");
        let prefix = build.join("installed");
        let mut make = Command::new("make");
        make.args(["-s", "-C", PACKAGE, "install"]);
        for (name, value) in [("ARCHIVE", &archive), ("BUILD", &build), ("PREFIX", &prefix)] {
            make.arg(format!("{name}={}", value.display()));
        }
        // What finds errors in memory tells where.
        make.arg("STRIP=");
        // Not those of a `make` that runs the tests.
        run(make.env_remove("MAKEFLAGS"));
        prefix
    })
}

/// Compiles a program, with all warnings, and gives its path.
pub fn compile(source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let program = prefix().with_file_name(name);
    let config = ["--cflags", "--libs", "fpstore"];
    let config = run(Command::new("pkg-config")
        .args(config)
        .env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")));
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic"]).args(flags);
    cc.arg("-o").arg(&program).arg(Path::new(PACKAGE).join(source));
    run(cc.args(config.split_whitespace()));
    program
}

/// A command that finds the shared library.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", prefix().join("lib"));
    command
}

/// The header that was installed.
pub fn header() -> String {
    fs::read_to_string(prefix().join("include/fpstore.h")).unwrap()
}
