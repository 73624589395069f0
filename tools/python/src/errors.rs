//! The exceptions.

use fpstore::ErrorKind;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};

create_exception!(
    fpstore,
    Error,
    PyException,
    "What fpstore could not do; the base of its exceptions."
);
create_exception!(fpstore, NotFoundError, Error, "Nothing stands at the path, or no store.");
create_exception!(
    fpstore,
    CorruptError,
    Error,
    "Bytes of a file are damaged: restore it from a copy, or repair it."
);
create_exception!(fpstore, UnsupportedError, Error, "A newer version of fpstore has written it.");
create_exception!(fpstore, ExistsError, Error, "Something stands where the output was to go.");
create_exception!(
    fpstore,
    BusyError,
    Error,
    "Another process writes there, or has not flushed what it wrote."
);
create_exception!(
    fpstore,
    DisplacedError,
    Error,
    "The store is not at its path any more, or its lock was removed: open it where it is now."
);
create_exception!(
    fpstore,
    StoppedError,
    Error,
    "The work was asked to stop, or its time has passed."
);
create_exception!(
    fpstore,
    ResourceError,
    Error,
    "It needs more memory, threads or space than there is or was allowed."
);
create_exception!(fpstore, RecipeError, Error, "A recipe is wrong, or not that of the store.");

/// The exception of an error of a corpus.
pub fn of_corpus(error: fpstore_corpus::Error) -> PyErr {
    use fpstore_corpus::Error;
    let text = error.to_string();
    match error {
        Error::Store(error) => of(error),
        Error::File { .. } | Error::System(_) => PyOSError::new_err(text),
        Error::Memory { .. } => ResourceError::new_err(text),
        Error::Busy { .. } => BusyError::new_err(text),
        Error::OfAnother { .. } => ExistsError::new_err(text),
        Error::Stopped => StoppedError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The exception of an error of the library. Wrong options are `ValueError`, what the system
/// refuses `OSError`.
pub fn of(error: fpstore::Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::NotFound => NotFoundError::new_err(text),
        ErrorKind::Corrupt => CorruptError::new_err(text),
        ErrorKind::Unsupported => UnsupportedError::new_err(text),
        ErrorKind::AlreadyExists => ExistsError::new_err(text),
        ErrorKind::Busy => BusyError::new_err(text),
        ErrorKind::Displaced => DisplacedError::new_err(text),
        ErrorKind::Stopped => StoppedError::new_err(text),
        ErrorKind::OutOfResources => ResourceError::new_err(text),
        ErrorKind::InvalidInput if matches!(error, fpstore::Error::Recipes { .. }) => {
            RecipeError::new_err(text)
        }
        ErrorKind::InvalidInput => PyValueError::new_err(text),
        _ => PyOSError::new_err(text),
    }
}
