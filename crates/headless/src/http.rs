//! The window's door: the front end's files, its requests, and the hints that something changed. On loopback only.
//!
//! `GET` never changes anything. Answers of the broker are never kept by a browser. No other origin is ever let in.

use crate::assets;
use crate::guard::Guard;
use crate::rest::{self, Rest};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream;
use onceover_broker::BrokerHandle;
use onceover_inspect::Inspector;
use onceover_inspect::view::{Failure, FailureCode};
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Largest request body, in bytes: an add of the window with the largest payload that clients may send, as text.
const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// So that a page notices a dead broker behind a living connection.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(10);
/// Scripts, styles and connections from here only; nothing may frame the page.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What the door needs.
pub struct Door {
    /// Who may use it.
    pub guard: Arc<Guard>,
    /// Answers requests.
    pub inspector: Inspector,
    /// Tells of changes.
    pub broker: BrokerHandle,
}

/// All routes of the door: the page's own, and the HTTP interface's.
pub fn router(door: Arc<Door>, rest: Arc<Rest>) -> Router {
    let page = Router::new()
        .route("/session", post(session))
        .route("/rpc", post(rpc))
        .route("/changes", get(changes))
        .fallback(file)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(Arc::clone(&door), at_the_door))
        .with_state(door);
    page.merge(rest::router(rest))
}

/// Turns away what is not meant for us, and marks every answer.
async fn at_the_door(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let mut response = if door.guard.is_ours(request.headers()) {
        next.run(request).await
    } else {
        failure(
            StatusCode::FORBIDDEN,
            FailureCode::Unauthorized,
            "This address belongs to the broker's own window only.",
        )
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The token for the cookie.
async fn session(State(door): State<Arc<Door>>, headers: HeaderMap, body: Bytes) -> Response {
    let body = match json_body(&headers, &body) {
        Ok(body) => body,
        Err(refused) => return *refused,
    };
    if !body.get("token").and_then(Value::as_str).is_some_and(|token| door.guard.is_token(token)) {
        return unauthorized();
    }
    (StatusCode::NO_CONTENT, [(SET_COOKIE, door.guard.cookie())]).into_response()
}

/// One question or action.
async fn rpc(State(door): State<Arc<Door>>, headers: HeaderMap, body: Bytes) -> Response {
    if !door.guard.knows(&headers) {
        return unauthorized();
    }
    let request = match json_body(&headers, &body) {
        Ok(request) => request,
        Err(refused) => return *refused,
    };
    match door.inspector.call(request).await {
        Ok(view) => json_answer(StatusCode::OK, &view),
        Err(failed) => failure(status_of(failed.code), failed.code, &failed.message),
    }
}

/// A hint at once, so that the page knows where it stands, then one whenever something changed.
async fn changes(State(door): State<Arc<Door>>, headers: HeaderMap) -> Response {
    if !door.guard.knows(&headers) {
        return unauthorized();
    }
    let mut revisions = door.broker.changes();
    revisions.mark_changed();
    let hints = stream::unfold((revisions, door), |(mut revisions, door)| async move {
        revisions.changed().await.ok()?;
        let revision = *revisions.borrow_and_update();
        // Two numbers, always written; a page that misses one hint gets the next.
        let hint = serde_json::to_string(&door.inspector.changed(revision)).ok()?;
        Some((Ok::<_, Infallible>(Event::default().data(hint)), (revisions, door)))
    });
    Sse::new(hints).keep_alive(KeepAlive::new().interval(HEARTBEAT_EVERY)).into_response()
}

/// The front end's files.
async fn file(method: Method, uri: Uri) -> Response {
    if method != Method::GET && method != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let Some(asset) = assets::find(uri.path()) else { return StatusCode::NOT_FOUND.into_response() };
    let kept = if asset.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = [(CONTENT_TYPE, asset.media_type), (CACHE_CONTROL, kept)];
    (headers, Body::from(asset.content)).into_response()
}

/// Other pages can send forms and plain text without asking, but not JSON.
fn json_body(headers: &HeaderMap, body: &[u8]) -> Result<Value, Box<Response>> {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let text = "Requests are JSON, with the content type application/json.";
        return Err(failure(StatusCode::UNSUPPORTED_MEDIA_TYPE, FailureCode::BadRequest, text).into());
    }
    serde_json::from_slice(body).map_err(|error| {
        failure(StatusCode::BAD_REQUEST, FailureCode::BadRequest, &format!("The request is not valid JSON: {error}."))
            .into()
    })
}

fn status_of(code: FailureCode) -> StatusCode {
    match code {
        FailureCode::BadRequest | FailureCode::BadFilter => StatusCode::BAD_REQUEST,
        FailureCode::NotFound => StatusCode::NOT_FOUND,
        FailureCode::Unauthorized => StatusCode::UNAUTHORIZED,
        FailureCode::ReadOnly => StatusCode::FORBIDDEN,
        FailureCode::NotRunning => StatusCode::SERVICE_UNAVAILABLE,
        FailureCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn unauthorized() -> Response {
    let text = "This page has no session with the broker. Open the link that onceoverd printed when it started.";
    failure(StatusCode::UNAUTHORIZED, FailureCode::Unauthorized, text)
}

fn failure(status: StatusCode, code: FailureCode, message: &str) -> Response {
    json_answer(status, &Failure { code, message: message.to_owned() })
}

fn json_answer(status: StatusCode, answer: &impl serde::Serialize) -> Response {
    match serde_json::to_vec(answer) {
        Ok(text) => (status, [(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod http_tests;
