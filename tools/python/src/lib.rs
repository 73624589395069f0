//! fpstore for Python: the native half of the package, which `fpstore/__init__.py` names and
//! documents.

mod answers;
mod arrow;
mod corpus;
mod errors;
mod exchange;
mod graph;
mod ids;
mod input;
mod join;
mod layout;
mod open;
mod pack;
mod plan;
mod received;
mod run;
mod sent;
mod store;
mod text;
mod value;
mod width;
mod writer;

use pyo3::prelude::*;

/// The native half of fpstore.
#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arrow::ArrowStream;
    #[pymodule_export]
    use super::corpus::{Deduplicated, corpus_decide, corpus_report, dedup, dedup_corpus};
    #[pymodule_export]
    use super::errors::{
        BusyError, CorruptError, DisplacedError, Error, ExistsError, NotFoundError, RecipeError,
        ResourceError, StoppedError, UnsupportedError,
    };
    #[pymodule_export]
    use super::exchange::{Census, Exchange};
    #[pymodule_export]
    use super::graph::{components, stars};
    #[pymodule_export]
    use super::open::open;
    #[pymodule_export]
    use super::pack::pack;
    #[pymodule_export]
    use super::plan::plan;
    #[pymodule_export]
    use super::store::Store;
    #[pymodule_export]
    use super::text::Recipe;
    #[pymodule_export]
    use super::writer::{Writer, create, open_writer};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("simd_level", fpstore::stats::simd_level().to_string())
    }
}
