//! Answers that are errors.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fpstore::{Error, ErrorKind};
use serde::Serialize;

/// Why a request is not done.
#[derive(Debug)]
pub struct Refused {
    pub status: StatusCode,
    /// A word for programs.
    pub code: &'static str,
    /// A line for people.
    pub message: String,
    /// Seconds after which it may go.
    pub retry_after: Option<u64>,
}

#[derive(Serialize)]
struct Body<'a> {
    error: BodyError<'a>,
}

#[derive(Serialize)]
struct BodyError<'a> {
    code: &'a str,
    message: &'a str,
}

impl Refused {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), retry_after: None }
    }

    /// The request is wrong, and will be the next time.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// More is asked for than this server gives.
    pub fn limit(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message)
    }

    /// It took longer than it may.
    pub fn too_slow() -> Self {
        let message = "takes longer than a request may; ask for a smaller k or fewer at once";
        Self::new(StatusCode::REQUEST_TIMEOUT, "timeout", message)
    }

    /// There is too much to do already.
    pub fn overloaded(what: &str, seconds: u64) -> Self {
        let message = format!("{what}; try again after {seconds} s");
        Self {
            retry_after: Some(seconds),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "overloaded", message)
        }
    }

    /// The server ends, or a part of it has.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self {
            retry_after: Some(1),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match (&error, error.kind()) {
            (Error::DeadlineExceeded, _) => Self::too_slow(),
            (Error::TooManyMatches { .. }, _) => Self::limit("matches", message),
            (_, ErrorKind::InvalidInput) => Self::invalid(message),
            (_, ErrorKind::OutOfResources) => Self::unavailable(message),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "store", message),
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let error = BodyError { code: self.code, message: &self.message };
        let body = serde_json::to_vec(&Body { error }).unwrap_or_default();
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
