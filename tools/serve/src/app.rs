//! Routes, and what each of them does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use fpstore::Execution;
use tokio::sync::Semaphore;

use crate::bodies::{Buffers, Room};
use crate::config::{Config, Limits, LogRequests};
use crate::log::Log;
use crate::messages::{Durable, LatencyJson, StatusAnswer, StoresAnswer};
use crate::metrics::{Metrics, Operation, write_of_stores, write_one};
use crate::pool::Pool;
use crate::refused::Refused;
use crate::served::{self, Answer, Body, Later, Parameters, Served, check_writable, to_json};
use crate::tokens::{Right, Tokens};
use crate::writing::WriteCounts;
use crate::{ServeError, openapi, page};

const JSON: &str = "application/json";
const ARROW: &str = "application/vnd.apache.arrow.stream";
/// Batches that run at once; as many again wait.
const BATCHES: usize = 2;
/// Who asks for one fingerprint sends no more bytes: an id has up to 65,535, each escaped as six.
const SINGLE_BYTES: usize = 512 << 10;

/// All that handlers need.
pub struct App {
    pub stores: BTreeMap<String, Arc<dyn Served>>,
    pub tokens: Tokens,
    pub limits: Limits,
    pub pool: Pool,
    pub batches: Semaphore,
    pub buffers: Buffers,
    pub metrics: Arc<Metrics>,
    pub writes: Arc<WriteCounts>,
    pub log: Log,
    pub log_requests: LogRequests,
    pub started: Instant,
    pub draining: AtomicBool,
    document: Vec<u8>,
}

impl App {
    pub fn open(
        config: &Config,
        threads: usize,
        metrics: Arc<Metrics>,
        log: Log,
    ) -> Result<Self, ServeError> {
        let tokens = Tokens::open(config.read_tokens.as_ref(), config.write_tokens.as_ref())?;
        let writes = Arc::default();
        let execution = Execution::new().threads(threads);
        let mut stores = BTreeMap::new();
        for store in &config.stores {
            let opened = served::open(store, config.writable, &config.limits, &execution, &writes)?;
            stores.insert(store.name.clone(), opened);
        }
        let pool = Pool::start(threads, config.limits.waiting).map_err(ServeError::Thread)?;
        Ok(Self {
            document: openapi::document(&stores, &config.limits),
            stores,
            tokens,
            limits: config.limits.clone(),
            pool,
            batches: Semaphore::new(BATCHES * 2),
            buffers: Buffers::new(config.limits.buffer_bytes),
            metrics,
            writes,
            log,
            log_requests: config.log,
            started: Instant::now(),
            draining: AtomicBool::new(false),
        })
    }

    fn store(&self, name: &str) -> Result<&Arc<dyn Served>, Refused> {
        self.stores.get(name).ok_or_else(|| {
            let message = format!("no store {:?} here; `GET /v1/stores` lists them", clip(name));
            Refused::new(StatusCode::NOT_FOUND, "not-found", message)
        })
    }
}

fn clip(text: &str) -> String {
    text.chars().take(64).collect()
}

type Handled = Result<Response, Refused>;
type AppState = State<Arc<App>>;
/// The name of a store, as it stands in the path.
type Name = Result<Path<String>, axum::extract::rejection::PathRejection>;

/// Paths with what stands behind them. The document of the interface names the same.
fn routes() -> [(&'static str, MethodRouter<Arc<App>>); 14] {
    [
        ("/", get(index)),
        ("/health", get(health)),
        ("/ready", get(ready)),
        ("/metrics", get(metrics)),
        ("/openapi.json", get(document)),
        ("/v1/status", get(status)),
        ("/v1/stores", get(stores)),
        ("/v1/stores/{store}", get(stats)),
        ("/v1/stores/{store}/search", post(search)),
        ("/v1/stores/{store}/nearest", post(nearest)),
        ("/v1/stores/{store}/search-batch", post(batch)),
        ("/v1/stores/{store}/check-and-insert", post(check_and_insert)),
        ("/v1/stores/{store}/insert", post(insert)),
        ("/v1/stores/{store}/delete", post(delete)),
    ]
}

/// What a path needs.
fn right(route: &str) -> Right {
    match route {
        "/" | "/health" | "/ready" | "/openapi.json" => Right::Nothing,
        "/v1/stores/{store}/check-and-insert"
        | "/v1/stores/{store}/insert"
        | "/v1/stores/{store}/delete" => Right::Write,
        _ => Right::Read,
    }
}

pub fn router(app: &Arc<App>) -> Router {
    let routes = routes().into_iter();
    let router = routes.fold(Router::new(), |router, (path, method)| router.route(path, method));
    let unknown = async || Refused::new(StatusCode::NOT_FOUND, "not-found", "no such path");
    let method = async || {
        let message = "this path takes another method; see the header Allow";
        Refused::new(StatusCode::METHOD_NOT_ALLOWED, "method", message)
    };
    router
        .fallback(unknown)
        .method_not_allowed_fallback(method)
        .layer(middleware::from_fn_with_state(Arc::clone(app), around))
        .with_state(Arc::clone(app))
}

/// When a request began; what it asks for must be done until `deadline`.
#[derive(Clone, Copy)]
struct Began {
    deadline: Instant,
}

/// What every request goes through: who asks, what it came to, how long that took.
async fn around(State(app): AppState, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let deadline = began + app.limits.timeout;
    request.extensions_mut().insert(Began { deadline });
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_string());
    let method = request.method().clone();
    // What stands behind a question mark is no business of the log.
    let path = clip(request.uri().path());
    let peer = request.extensions().get::<SocketAddr>().copied();
    let may = match &route {
        Some(route) => check(&app, &request, right(route)),
        None => Ok(()),
    };
    let mut response = match may {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let (status, time) = (response.status().as_u16(), began.elapsed());
    let operation = match route {
        Some(_) => Operation::of_route(&path),
        None => Operation::Other,
    };
    app.metrics.answered(operation, status, time);
    if app.log_requests != LogRequests::No {
        let peer = peer.map_or_else(|| "-".to_string(), |peer| peer.to_string());
        let ms = time.as_secs_f64() * 1e3;
        app.log.line(&format!("{peer} {method} {path} {status} {ms:.3} ms"));
    }
    response
}

/// Whether a request comes from whoever it should.
fn check(app: &App, request: &Request, right: Right) -> Result<(), Refused> {
    app.tokens.check(request.headers(), right)?;
    // Without tokens only this machine can ask. A page of a foreign site that has its name led here
    // could ask as well, in the browser of whoever looks at it, but names itself as the host.
    if !app.tokens.guard_reads() && right != Right::Nothing {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| request.uri().authority().map(|authority| authority.as_str()));
        if !host.is_some_and(is_this_machine) {
            let message = "without tokens only `localhost` and addresses are answered; give \
                           --read-token, or that as the header Host";
            return Err(Refused::new(StatusCode::MISDIRECTED_REQUEST, "host", message));
        }
    }
    Ok(())
}

/// Whether a header Host is an address, or the one name that nobody else can have.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<std::net::IpAddr>().is_ok()
}

fn with_type(kind: &'static str, body: axum::body::Body) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], body).into_response()
}

impl App {
    fn json(&self, answer: Vec<u8>) -> Handled {
        Ok(with_type(JSON, self.buffers.answer(answer)?))
    }

    /// Reads a body; `arrow` says whether it may be Arrow.
    async fn body(&self, request: Request, arrow: bool) -> Result<(Body, Room), Refused> {
        let (parts, body) = request.into_parts();
        let most = match arrow {
            true => self.limits.body_bytes,
            false => self.limits.body_bytes.min(SINGLE_BYTES),
        };
        let is_arrow = is_of_type(&parts.headers, ARROW);
        if !(is_arrow && arrow || is_of_type(&parts.headers, JSON)) {
            let also = if arrow { format!(" or {ARROW}") } else { String::new() };
            let message = format!("send {JSON}{also}, and say so in Content-Type");
            return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "type", message));
        }
        let deadline = deadline(&parts.extensions, &self.limits);
        let (bytes, room) = self.buffers.read(&parts.headers, body, most, deadline).await?;
        if self.log_requests == LogRequests::WithBodies && !is_arrow {
            self.log.line(&format!("body {}", String::from_utf8_lossy(&bytes)));
        }
        Ok((if is_arrow { Body::Arrow(bytes) } else { Body::Json(bytes) }, room))
    }
}

/// When the time of a request is over.
fn deadline(extensions: &axum::http::Extensions, limits: &Limits) -> Instant {
    let began = extensions.get::<Began>().map(|began| began.deadline);
    began.unwrap_or_else(|| Instant::now() + limits.timeout)
}

fn is_of_type(headers: &HeaderMap, wanted: &str) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = value.and_then(|value| value.split(';').next()).map(str::trim);
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case(wanted))
}

fn name(name: Name) -> Result<String, Refused> {
    let invalid = |_| Refused::new(StatusCode::NOT_FOUND, "not-found", "no store has such a name");
    name.map(|Path(name)| name).map_err(invalid)
}

/// Reads the query string.
///
/// # Errors
///
/// 400 for what no request has.
fn parameters(query: Option<&str>, known: &[&str]) -> Result<Parameters, Refused> {
    let mut parameters = Parameters::default();
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let bad = || Refused::invalid(format!("the query string: bad value of {:?}", clip(key)));
        match key {
            _ if !known.contains(&key) => {
                let known = known.join(", ");
                let key = clip(key);
                return Err(Refused::invalid(format!(
                    "the query string: {key:?} is none of {known}"
                )));
            }
            "k" => parameters.k = Some(value.parse().map_err(|_| bad())?),
            "limit" => parameters.limit = Some(value.parse().map_err(|_| bad())?),
            "ids" => parameters.ids = Some(value.parse().map_err(|_| bad())?),
            _ => {
                parameters.durable = match value {
                    "disk" => Durable::Disk,
                    "system" => Durable::System,
                    _ => return Err(bad()),
                };
            }
        }
    }
    Ok(parameters)
}

async fn index() -> Response {
    let mut response = with_type("text/html; charset=utf-8", page::HTML.into());
    let policy = HeaderValue::from_static(page::POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

async fn health() -> Response {
    with_type(JSON, "{\"status\":\"ok\"}".into())
}

async fn ready(State(app): AppState) -> Handled {
    match app.draining.load(Relaxed) {
        true => Err(Refused::unavailable("the server ends")),
        false => Ok(with_type(JSON, "{\"status\":\"ready\"}".into())),
    }
}

async fn document(State(app): AppState) -> Handled {
    app.json(app.document.clone())
}

async fn status(State(app): AppState) -> Handled {
    let latency = |operation: Operation| {
        let times = app.metrics.times(operation);
        let ms = |part| times.quantile(part).map(|seconds| seconds * 1e3);
        LatencyJson {
            operation: operation.name(),
            count: times.count(),
            p50_ms: ms(0.5),
            p99_ms: ms(0.99),
            p999_ms: ms(0.999),
        }
    };
    let answer = StatusAnswer {
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: app.started.elapsed().as_secs(),
        connections: app.metrics.connections.load(Relaxed),
        waiting: app.pool.waiting(),
        refused: app.metrics.with_status(429),
        latencies: Operation::ALL.into_iter().map(latency).collect(),
    };
    app.json(to_json(&answer)?)
}

async fn metrics(State(app): AppState) -> Handled {
    let mut text = String::new();
    app.metrics.write(&mut text);
    let waiting = ("fpstore_searches_waiting", "gauge", "Searches that wait for a thread.");
    write_one(&mut text, waiting, app.pool.waiting() as f64);
    let writes = &app.writes;
    for (name, help, cell) in [
        ("fpstore_commits_total", "Commits of all stores.", &writes.commits),
        ("fpstore_records_written_total", "Records that commits held.", &writes.records),
        ("fpstore_commit_failures_total", "Commits that the disk refused.", &writes.failures),
    ] {
        write_one(&mut text, (name, "counter", help), cell.load(Relaxed) as f64);
    }
    let sizes: Vec<_> = app.stores.values().map(|store| (store.name(), store.sizes())).collect();
    for (place, (name, help)) in [
        ("fpstore_store_fingerprints", "Fingerprints that a store holds."),
        ("fpstore_store_segments", "Segments of a store."),
        ("fpstore_store_heap_bytes", "Bytes of the heap that a store takes."),
    ]
    .into_iter()
    .enumerate()
    {
        let value = |(name, sizes): &(&str, [u64; 3])| {
            (name.to_string(), sizes.get(place).copied().unwrap_or(0) as f64)
        };
        write_of_stores(&mut text, (name, "gauge", help), sizes.iter().map(value));
    }
    let waiting =
        |store: &Arc<dyn Served>| (store.name().to_string(), store.writes_waiting() as f64);
    let described = ("fpstore_store_writes_waiting", "gauge", "Writes that wait.");
    write_of_stores(&mut text, described, app.stores.values().map(waiting));
    for (place, name, help) in [
        (0, "fpstore_store_refreshes_total", "Times that others had written a store."),
        (1, "fpstore_store_refresh_failures_total", "Times that a store could not be looked at."),
    ] {
        let value = |store: &Arc<dyn Served>| {
            let counts = store.refreshes();
            (store.name().to_string(), counts.get(place).copied().unwrap_or(0) as f64)
        };
        write_of_stores(&mut text, (name, "counter", help), app.stores.values().map(value));
    }
    let body = app.buffers.answer(text.into_bytes())?;
    Ok(with_type("text/plain; version=0.0.4; charset=utf-8", body))
}

async fn stores(State(app): AppState) -> Handled {
    let stores = app.stores.values().map(|store| store.stats()).collect::<Result<_, _>>()?;
    app.json(to_json(&StoresAnswer { stores })?)
}

async fn stats(State(app): AppState, path: Name) -> Handled {
    let answer = app.store(&name(path)?)?.stats()?;
    app.json(to_json(&answer)?)
}

/// Reads a request for one fingerprint and has a thread of the pool answer it.
async fn one(
    app: &App,
    store: Name,
    request: Request,
    answer: impl FnOnce(&dyn Served, &[u8], Instant) -> Answer + Send + 'static,
) -> Handled {
    let store = Arc::clone(app.store(&name(store)?)?);
    parameters(request.uri().query(), &[])?;
    let deadline = deadline(request.extensions(), &app.limits);
    let (body, _room) = app.body(request, false).await?;
    let Body::Json(bytes) = body else { return Err(crate::pool::failed()) };
    let work = move || answer(store.as_ref(), &bytes, deadline);
    app.json(app.pool.run(deadline, work).await?)
}

async fn search(State(app): AppState, path: Name, request: Request) -> Handled {
    one(&app, path, request, |store, body, deadline| store.search(body, deadline)).await
}

async fn nearest(State(app): AppState, path: Name, request: Request) -> Handled {
    one(&app, path, request, |store, body, deadline| store.nearest(body, deadline)).await
}

async fn batch(State(app): AppState, path: Name, request: Request) -> Handled {
    let store = Arc::clone(app.store(&name(path)?)?);
    let is_arrow = is_of_type(request.headers(), ARROW);
    let known: &[&str] = if is_arrow { &["k", "limit", "ids"] } else { &[] };
    let parameters = parameters(request.uri().query(), known)?;
    let deadline = deadline(request.extensions(), &app.limits);
    let (body, _room) = app.body(request, true).await?;
    let busy = |_| Refused::overloaded("too many batches run", 1);
    let _one = app.batches.try_acquire().map_err(busy)?;
    let work = move || store.batch(body, parameters, deadline);
    let answer = tokio::task::spawn_blocking(work).await;
    let answer = answer.unwrap_or_else(|_| Err(crate::pool::failed()))?;
    let kind = if is_arrow { ARROW } else { JSON };
    Ok(with_type(kind, app.buffers.answer(answer)?))
}

async fn check_and_insert(State(app): AppState, path: Name, request: Request) -> Handled {
    let store = Arc::clone(app.store(&name(path)?)?);
    check_writable(store.as_ref())?;
    parameters(request.uri().query(), &[])?;
    let (body, _room) = app.body(request, false).await?;
    let Body::Json(bytes) = body else { return Err(crate::pool::failed()) };
    app.json(store.check_and_insert(bytes).await?)
}

async fn insert(State(app): AppState, path: Name, request: Request) -> Handled {
    write(&app, path, request, |store, body, parameters| store.insert(body, parameters)).await
}

async fn delete(State(app): AppState, path: Name, request: Request) -> Handled {
    write(&app, path, request, |store, body, parameters| store.delete(body, parameters)).await
}

/// Reads records and hands them to the writer of the store.
async fn write(
    app: &App,
    path: Name,
    request: Request,
    change: impl FnOnce(Arc<dyn Served>, Body, Parameters) -> Later,
) -> Handled {
    let store = Arc::clone(app.store(&name(path)?)?);
    check_writable(store.as_ref())?;
    let is_arrow = is_of_type(request.headers(), ARROW);
    let parameters = parameters(request.uri().query(), if is_arrow { &["durable"] } else { &[] })?;
    let (body, _room) = app.body(request, true).await?;
    app.json(change(store, body, parameters).await?)
}

/// Keeps what others have written to a store in sight, until `ended` says so.
pub fn keep_fresh(app: &App, name: &str, ended: &crossbeam_channel::Receiver<()>) {
    use crossbeam_channel::RecvTimeoutError;
    let Some(store) = app.stores.get(name) else { return };
    while ended.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
        if let Some(problem) = store.refresh() {
            app.log.line(&format!("store {name}: {problem}; what it held before is served"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_localhost_are_this_machine() {
        for host in
            ["localhost", "LOCALHOST:7878", "127.0.0.1", "127.0.0.1:1", "[::1]:80", "10.0.0.1"]
        {
            assert!(is_this_machine(host), "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example", ":80"]
        {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn query_strings_are_read_strictly() {
        let known = ["k", "limit", "ids", "durable"];
        let all = parameters(Some("k=3&limit=5&ids=false&durable=system"), &known).unwrap();
        assert_eq!((all.k, all.limit, all.ids), (Some(3), Some(5), Some(false)));
        assert_eq!(all.durable, Durable::System);
        for query in ["k=x", "k=-1", "k", "x=1", "ids=1", "durable=never"] {
            assert_eq!(
                parameters(Some(query), &known).unwrap_err().status.as_u16(),
                400,
                "{query}"
            );
        }
        assert!(parameters(Some("k=3"), &[]).is_err() && parameters(None, &[]).is_ok());
    }
}
