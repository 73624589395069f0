//! What `--version` says.

use std::sync::LazyLock;

/// The commit that was built.
pub const COMMIT: &str = of_build(option_env!("FPSTORE_COMMIT"));
/// The compiler that built it.
pub const COMPILER: &str = of_build(option_env!("FPSTORE_COMPILER"));

const fn of_build(name: Option<&'static str>) -> &'static str {
    match name {
        Some(name) => name,
        None => "unknown",
    }
}

static LONG: LazyLock<String> = LazyLock::new(|| {
    let features: Vec<&str> = [
        ("arrow", cfg!(feature = "arrow")),
        ("parquet", cfg!(feature = "parquet")),
        ("serve", cfg!(feature = "serve")),
    ]
    .into_iter()
    .filter_map(|(name, is_on)| is_on.then_some(name))
    .collect();
    let features = if features.is_empty() { "none".to_string() } else { features.join(", ") };
    [
        env!("CARGO_PKG_VERSION"),
        &format!("features: {features}"),
        &format!("SIMD:     {}", fpstore::stats::simd_level()),
        &format!("commit:   {COMMIT}"),
        &format!("compiler: {COMPILER}"),
    ]
    .join("\n")
});

/// The version, the features that were built, the SIMD instructions that are used on this CPU, the
/// commit and the compiler.
pub fn long() -> &'static str {
    &LONG
}
