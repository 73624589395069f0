//! Connections: how they are taken, served, bounded and ended.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use crossbeam_channel::bounded;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio_io_timeout::TimeoutStream;

use crate::app::{App, keep_fresh, router};
use crate::config::Config;
use crate::log::{Log, LogWriter};
use crate::{ServeError, served};

/// Bytes of a head, and of what is read ahead on a connection.
const READ_BYTES: usize = 16 << 10;
/// What is said to whom there is no room for.
const FULL: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\nconnection: close\r\n\
content-type: application/json\r\ncontent-length: 75\r\n\r\n\
{\"error\":{\"code\":\"overloaded\",\"message\":\"too many connections; try later\"}}";

/// Stores that are open, and a port that is listened on.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    address: SocketAddr,
    threads: usize,
    stop: watch::Receiver<bool>,
    stopper: Stopper,
    log: LogWriter,
}

/// Ends a server, from any thread.
#[derive(Clone)]
pub struct Stopper(Arc<watch::Sender<bool>>);

impl Stopper {
    /// Takes no more connections, lets requests end, and makes all durable.
    pub fn stop(&self) {
        let _ = self.0.send(true);
    }
}

impl Server {
    /// Opens the stores and listens.
    ///
    /// # Errors
    ///
    /// [`ServeError`], each with what to do.
    pub fn open(config: &Config) -> Result<Self, ServeError> {
        config.check()?;
        let threads = match config.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let refused = |source| ServeError::Listen { listen: config.listen, source };
        let listener = TcpListener::bind(config.listen).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let metrics = Arc::default();
        let (lines, log) = Log::start(Arc::clone(&metrics)).map_err(ServeError::Thread)?;
        let app = Arc::new(App::open(config, threads, metrics, lines)?);
        let (stop, stopped) = watch::channel(false);
        let stopper = Stopper(Arc::new(stop));
        Ok(Self { app, listener, address, threads, stop: stopped, stopper, log })
    }

    /// Where it listens: with the port that the system chose, if that was left to it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until it is stopped, and then until all requests have ended or the time for that is
    /// over. All that was acknowledged is durable when it returns.
    ///
    /// # Errors
    ///
    /// [`ServeError::Thread`] if the system starts none; [`ServeError::Store`] if the last commit
    /// of a store fails.
    pub fn run(self) -> Result<(), ServeError> {
        let Self { app, listener, threads, stop, stopper, log, .. } = self;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .max_blocking_threads(8)
            .thread_name("serve")
            .enable_all()
            .build()
            .map_err(ServeError::Thread)?;
        let (running, ended) = bounded::<()>(0);
        let mut fresh = Vec::new();
        for (name, store) in &app.stores {
            if !store.is_writable() {
                let (app, name, ended) = (Arc::clone(&app), name.clone(), ended.clone());
                let thread = thread::Builder::new().name("refresh".to_string());
                let thread = thread.spawn(move || keep_fresh(&app, &name, &ended));
                fresh.push(thread.map_err(ServeError::Thread)?);
            }
        }
        runtime.block_on(take(&app, listener, stop)).map_err(ServeError::Thread)?;
        // What still runs is cut off here.
        runtime.shutdown_timeout(Duration::from_secs(1));
        drop((running, stopper));
        fresh.into_iter().for_each(|thread| drop(thread.join()));
        let threads: Vec<_> = app
            .stores
            .values()
            .filter_map(|store: &Arc<dyn served::Served>| store.take_thread())
            .collect();
        // With the last handle of the stores their writers end.
        drop(app);
        let mut done = Ok(());
        for thread in threads {
            if let Ok(Err(error)) = thread.join() {
                done = Err(error.into());
            }
        }
        log.finish();
        done
    }
}

/// As many connections as there are files for.
fn most_connections(wanted: usize) -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            limit.current = limit.maximum;
            // With fewer, fewer are taken.
            let _ = setrlimit(Resource::Nofile, limit);
        }
        if let Some(files) = getrlimit(Resource::Nofile).current {
            // Some are for segments and logs.
            let files = usize::try_from(files).unwrap_or(usize::MAX);
            return wanted.min(files.saturating_sub(256).max(files / 2));
        }
    }
    wanted
}

/// Takes connections until `stop`, then waits for them.
async fn take(
    app: &Arc<App>,
    listener: TcpListener,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let router = router(app);
    let most = most_connections(app.limits.connections);
    let room = Arc::new(Semaphore::new(most));
    loop {
        let taken = tokio::select! {
            taken = listener.accept() => taken,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let (stream, peer) = match taken {
            Ok(taken) => taken,
            Err(error) => {
                // Of one connection, or there are no files left: others may go meanwhile.
                if !is_of_connection(&error) {
                    app.log.line(&format!("cannot take a connection: {error}"));
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                continue;
            }
        };
        let Ok(one) = Arc::clone(&room).try_acquire_owned() else {
            app.metrics.connections_refused.fetch_add(1, Relaxed);
            let _ = stream.try_write(FULL);
            continue;
        };
        let (app, router, stop) = (Arc::clone(app), router.clone(), stop.clone());
        tokio::spawn(async move {
            app.metrics.connections.fetch_add(1, Relaxed);
            // What a client does wrong ends its connection, and is no business of others.
            let _ = serve(&app, stream, peer, router, stop).await;
            app.metrics.connections.fetch_sub(1, Relaxed);
            drop(one);
        });
    }
    drop(listener);
    app.draining.store(true, Relaxed);
    let all = u32::try_from(most).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(app.limits.drain, room.acquire_many(all)).await;
    Ok(())
}

fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn serve(
    app: &App,
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    mut stop: watch::Receiver<bool>,
) -> Result<(), hyper::Error> {
    // Answers are written whole; to wait for more would only delay them.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    // Who takes nothing of an answer for so long is gone. What is read has times of its own.
    stream.set_write_timeout(Some(app.limits.timeout.max(Duration::from_secs(10))));
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let router = router.clone();
        async move {
            let request: Request = request.map(axum::body::Body::new);
            answer(router, request).await
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.limits.idle)
        .max_buf_size(READ_BYTES)
        .max_headers(64)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    tokio::pin!(connection);
    tokio::select! {
        done = connection.as_mut() => return done,
        _ = stop.wait_for(|stop| *stop) => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}

/// Routers are always ready.
async fn answer(
    mut router: Router,
    request: Request,
) -> Result<axum::response::Response, std::convert::Infallible> {
    tower_service::Service::call(&mut router, request).await
}
