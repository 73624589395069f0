//! What a callback tells those who call it: to go on, to stop, or that it has failed.

use std::ops::ControlFlow;

use crate::error::Error;

/// What a callback of [`Batch::run`](crate::Batch::run) or [`Join::run`](crate::Join::run) gives
/// back.
///
/// * `()`: go on, always;
/// * [`ControlFlow<()>`](ControlFlow): go on, or stop soon and well;
/// * `Result<(), E>`: go on, or end with that error. `E` is the caller's own, to which an
///   [`Error`] of this crate can be converted, and what `run` fails with.
pub trait Flow: sealed::Sealed {
    /// What `run` fails with.
    type Error: From<Error>;

    /// Whether to go on, or else why not.
    #[doc(hidden)]
    fn control(self) -> ControlFlow<Option<Self::Error>>;
}

impl Flow for () {
    type Error = Error;

    fn control(self) -> ControlFlow<Option<Error>> {
        ControlFlow::Continue(())
    }
}

impl Flow for ControlFlow<()> {
    type Error = Error;

    fn control(self) -> ControlFlow<Option<Error>> {
        self.map_break(|()| None)
    }
}

impl<E: From<Error>> Flow for Result<(), E> {
    type Error = E;

    fn control(self) -> ControlFlow<Option<E>> {
        match self {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Some(error)),
        }
    }
}

mod sealed {
    use std::ops::ControlFlow;

    pub trait Sealed {}
    impl Sealed for () {}
    impl Sealed for ControlFlow<()> {}
    impl<E> Sealed for Result<(), E> {}
}

/// Whether a callback that has given `flow` is to be called again; keeps its error, if it has one.
pub(crate) fn control<R: Flow>(flow: R, failure: &mut Option<R::Error>) -> ControlFlow<()> {
    flow.control().map_break(|error| *failure = error)
}

/// What work comes to that has ended: the error of its callback stands before its own.
pub(crate) fn result<T, E: From<Error>>(
    done: Result<T, Error>,
    failure: Option<E>,
) -> Result<T, E> {
    match failure {
        Some(error) => Err(error),
        None => done.map_err(E::from),
    }
}
