//! The HTTP interface that bunqueue's dashboard and plain HTTP clients use (protocol-admin.md 13), on the page's port.
//!
//! It is a client's door, not the page's: where clients need a token, it needs one of theirs (or the page's), and where
//! they need none, neither does it. The page's cookie opens nothing here. `GET` never changes anything, so jobs are taken
//! by `POST` only. Other pages are let in by a list, each by its own name (D-15); without the list none is.
//!
//! What a route does is in the table of `rest_routes`, or in `rest_views` for what is put together of several answers.
//! Bodies are bounded one by one and all together, and so is the time to send them.

use crate::guard::Guard;
use crate::rest_events::{self, Hub};
use crate::rest_routes::{self, ROUTES, Route};
use crate::rest_views;
use axum::Router;
use axum::body::Body as HttpBody;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, ORIGIN, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, get, on, post};
use onceover_broker::BrokerHandle;
use onceover_inspect::call::{Answer, Body};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Largest body, in bytes.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of all bodies that are being read or carried out; more wait unread.
const ALL_BODIES_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long a body may take to come.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Which other pages are let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cors {
    /// These, none when there are none.
    Origins(Vec<String>),
    /// All of them.
    Any,
}

impl Cors {
    fn allows(&self, origin: &str) -> bool {
        match self {
            Cors::Any => true,
            Cors::Origins(origins) => origins.iter().any(|known| known == origin),
        }
    }
}

/// What the interface needs.
pub struct Rest {
    /// Whose port it is on.
    pub guard: Arc<Guard>,
    /// Carries things out.
    pub broker: BrokerHandle,
    /// Who else is let in.
    pub cors: Cors,
    /// Nothing may be changed.
    pub read_only: bool,
    /// Tells what happens.
    pub hub: Arc<Hub>,
    bodies: Semaphore,
}

impl Rest {
    /// An interface for a broker.
    #[must_use]
    pub fn new(guard: Arc<Guard>, broker: BrokerHandle, cors: Cors, read_only: bool) -> Rest {
        let hub = Arc::new(Hub::new(broker.clone()));
        Rest { guard, broker, cors, read_only, hub, bodies: Semaphore::new(ALL_BODIES_BYTES_MAX) }
    }
}

/// All routes of the interface.
pub fn router(rest: Arc<Rest>) -> Router {
    let mut router = Router::new()
        .route("/health", get(rest_views::health))
        .route("/healthz", get(live))
        .route("/live", get(live))
        .route("/ready", get(rest_views::ready))
        .route("/prometheus", get(rest_views::prometheus))
        .route("/metrics", get(rest_views::metrics))
        .route("/stats", get(rest_views::stats))
        .route("/heapstats", get(rest_views::heapstats))
        .route("/gc", post(rest_views::gc))
        .route("/storage", get(rest_views::storage))
        .route("/dashboard", get(rest_views::dashboard))
        .route("/dashboard/queues", get(rest_views::dashboard_queues))
        .route("/dashboard/queues/{queue}", get(rest_views::dashboard_queue))
        .route("/queues/summary", get(rest_views::summary))
        .route("/queues/{queue}/workers", get(rest_views::queue_workers))
        .route("/queues/{queue}/dlq", get(rest_views::dead_letters))
        .route("/queues/{queue}/dlq/stats", get(rest_views::dead_letter_stats))
        .route("/queues/{queue}/jobs", get(not_by_get))
        .route("/queues/{queue}/jobs/pull", post(rest_views::pull))
        .route("/queues/{queue}/jobs/pull-batch", post(rest_views::pull_batch))
        .route("/events", get(rest_events::all))
        .route("/events/queues/{queue}", get(rest_events::of_queue))
        .route("/ws", get(no_websocket))
        .route("/ws/queues/{queue}", get(no_websocket));
    for route in ROUTES {
        let handler =
            move |rest: State<Arc<Rest>>, params: RawPathParams, request: Request| run(route, rest, params, request);
        router = router.route(route.path, on(filter(route), handler));
    }
    router
        .method_not_allowed_fallback(|| async {
            answer(StatusCode::METHOD_NOT_ALLOWED, &Answer::error("Method not allowed"))
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&rest), at_the_door))
        .with_state(rest)
}

fn filter(route: &Route) -> MethodFilter {
    match route.method {
        "GET" => MethodFilter::GET,
        "PUT" => MethodFilter::PUT,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::POST,
    }
}

/// Who is let in, and what every answer says.
async fn at_the_door(State(rest): State<Arc<Rest>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()).map(str::to_owned);
    let foreign = origin.filter(|_| !rest.guard.is_ours(headers));
    let allowed = foreign.as_deref().is_none_or(|origin| rest.cors.allows(origin));
    let open = matches!(request.uri().path(), "/health" | "/healthz" | "/live" | "/ready");
    let mut response = if !rest.guard.is_our_host_in(headers) || !allowed || headers.get_all(ORIGIN).iter().count() > 1
    {
        answer(StatusCode::FORBIDDEN, &Answer::error("This origin or host is not allowed"))
    } else if request.method() == Method::OPTIONS {
        preflight()
    } else if !open && !rest.lets_in(headers) {
        rest.broker.news().auth_failed_over_http();
        answer(StatusCode::UNAUTHORIZED, &Answer::error("Unauthorized"))
    } else if rest.read_only && request.method() != Method::GET && request.method() != Method::HEAD {
        answer(StatusCode::FORBIDDEN, &Answer::error("This broker's HTTP interface is read-only"))
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some(origin) = foreign.filter(|_| allowed).and_then(|origin| HeaderValue::from_str(&origin).ok()) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
    response
}

impl Rest {
    /// A client's token, or the page's; `Bearer ` may be left out, as with bunqueue.
    fn lets_in(&self, headers: &HeaderMap) -> bool {
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
        self.broker.lets_in(token) | token.is_some_and(|token| self.guard.is_token(token))
    }
}

fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, DELETE, OPTIONS"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, Authorization, Last-Event-ID"),
        (ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// One route of the table.
async fn run(
    route: &'static Route,
    State(rest): State<Arc<Rest>>,
    params: RawPathParams,
    request: Request,
) -> Response {
    let (uri, body, _room) = match read(&rest, request).await {
        Ok(read) => read,
        Err(refused) => return *refused,
    };
    let params: Vec<(&str, &str)> = params.iter().collect();
    let call = rest_routes::call(route, &params, &uri, &body);
    match call.run(&rest.broker).await {
        Ok(done) if done.ok => answer(StatusCode::OK, &done),
        Ok(done) => answer(StatusCode::from_u16(route.refused).unwrap_or(StatusCode::BAD_REQUEST), &done),
        Err(down) => unavailable(&down.to_string()),
    }
}

/// The body, with its share of the room for all of them.
pub async fn read(rest: &Rest, request: Request) -> Result<(Uri, Body, SemaphorePermit<'_>), Box<Response>> {
    let (parts, body) = request.into_parts();
    let refuse = |status, text: &str| Err(Box::new(answer(status, &Answer::error(text))));
    let said = parts.headers.get("content-length").and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if said.is_some_and(|length| length > BODY_BYTES_MAX) {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, "The body is too large (max 16 MiB)");
    }
    // Other pages can send forms and plain text without asking first, but not JSON.
    let media_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_json =
        media_type.is_none_or(|value| value.split(';').next().unwrap_or_default().trim() == "application/json");
    if !is_json {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body must have the content type application/json");
    }
    let chunked = parts.headers.contains_key("transfer-encoding");
    let wanted = said.unwrap_or(if chunked { BODY_BYTES_MAX } else { 0 });
    let room = rest.bodies.acquire_many(u32::try_from(wanted).unwrap_or(u32::MAX)).await;
    let room = room.expect("the room for bodies is never closed");
    match tokio::time::timeout(BODY_TIMEOUT, axum::body::to_bytes(body, BODY_BYTES_MAX)).await {
        Err(_elapsed) => refuse(StatusCode::REQUEST_TIMEOUT, "The body did not come in time"),
        Ok(Err(_)) => refuse(StatusCode::PAYLOAD_TOO_LARGE, "The body is too large (max 16 MiB), or ended early"),
        Ok(Ok(text)) => match Body::parse(&text) {
            Ok(body) => Ok((parts.uri, body, room)),
            Err(error) => refuse(StatusCode::BAD_REQUEST, &error),
        },
    }
}

async fn live() -> &'static str {
    "OK"
}

/// bunqueue takes a job here.
async fn not_by_get() -> Response {
    let text = "GET takes no job, because GET changes nothing; use POST /queues/:queue/jobs/pull";
    answer(StatusCode::METHOD_NOT_ALLOWED, &Answer::error(text))
}

async fn no_websocket() -> Response {
    answer(StatusCode::NOT_IMPLEMENTED, &Answer::error("WebSocket is not supported by this version; use /events"))
}

/// An answer with its status.
pub fn answer(status: StatusCode, answer: &Answer) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], HttpBody::from(answer.json.clone())).into_response()
}

/// The broker cannot answer.
pub fn unavailable(text: &str) -> Response {
    answer(StatusCode::SERVICE_UNAVAILABLE, &Answer::error(text))
}

#[cfg(test)]
#[path = "rest_tests.rs"]
mod rest_tests;
