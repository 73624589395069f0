//! Tells the tool its compiler and its commit, which `fpstore bench` writes into its results.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_string());
    if let Some(version) = output(&compiler, &["--version"]) {
        println!("cargo::rustc-env=FPSTORE_COMPILER={version}");
    }
    // The log of HEAD grows with each commit and checkout. Without git, or without a repository,
    // the commit stays unknown.
    if let Some(log) = output("git", &["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
        && let Some(commit) = output("git", &["describe", "--always", "--dirty", "--abbrev=12"])
    {
        println!("cargo::rerun-if-changed={log}");
        println!("cargo::rustc-env=FPSTORE_COMMIT={commit}");
    }
}

/// What a command prints, without its line end.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string()).filter(|text| !text.is_empty())
}
