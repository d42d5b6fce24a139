//! Routes that are put together of several answers, or of figures of the whole broker (protocol-admin.md 13.2 and 13.3),
//! and the taking of jobs, which over HTTP waits in small steps.

use crate::rest::{Rest, answer, read, unavailable};
use crate::rest_routes::{number, query};
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use onceover_broker::{CoreView, monitor, prometheus as page};
use onceover_inspect::call::{Answer, Body, Call};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

type Shared = State<Arc<Rest>>;

/// The media type of a scrape.
const SCRAPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Between two looks for a job.
const PULL_EVERY: Duration = Duration::from_millis(100);
/// Longest wait for a job.
const PULL_MAX: Duration = Duration::from_secs(60);
/// Dead letters on a page whose size is not given, and at most.
const DEAD_DEFAULT: usize = 100;
const DEAD_MAX: usize = 1_000;

/// A question to the core, as the members of an answer.
async fn view(rest: &Rest, question: impl FnOnce(&CoreView<'_>) -> Value + Send + 'static) -> Response {
    match rest.broker.view(question).await {
        Ok(body) => answer(StatusCode::OK, &Answer::ok(body)),
        Err(down) => unavailable(&down.to_string()),
    }
}

pub async fn health(State(rest): Shared) -> Response {
    match rest.broker.view(monitor::health).await {
        Ok((true, body)) => answer(StatusCode::OK, &Answer::ok(body)),
        Ok((false, body)) => answer(StatusCode::SERVICE_UNAVAILABLE, &Answer::ok(body)),
        Err(down) => unavailable(&down.to_string()),
    }
}

pub async fn ready(State(rest): Shared) -> Response {
    let looked =
        rest.broker.view(|core| core.trouble.is_none().then_some(()).ok_or_else(|| monitor::storage(core))).await;
    match looked {
        Ok(Ok(())) => answer(StatusCode::OK, &Answer::ok(json!({ "ready": true }))),
        Ok(Err(storage)) => {
            let body = json!({ "ok": false, "ready": false, "storage": storage });
            answer(StatusCode::SERVICE_UNAVAILABLE, &Answer::ok(body))
        }
        Err(down) => unavailable(&down.to_string()),
    }
}

/// Figures for Prometheus.
pub async fn prometheus(State(rest): Shared) -> Response {
    match rest.broker.view(page::text).await {
        Ok(text) => ([(CONTENT_TYPE, SCRAPE)], text).into_response(),
        Err(down) => unavailable(&down.to_string()),
    }
}

/// For Prometheus, which says that it wants text, the same as above; for all others bunqueue's totals as JSON.
pub async fn metrics(rest: Shared, headers: HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accept.contains("text/plain") || accept.contains("openmetrics") {
        return prometheus(rest).await;
    }
    view(&rest, |core| json!({ "metrics": monitor::totals(core) })).await
}

pub async fn stats(State(rest): Shared) -> Response {
    let body = |core: &CoreView<'_>| json!({ "stats": monitor::stats(core), "memory": monitor::memory(), "collections": monitor::collections(core) });
    view(&rest, body).await
}

/// There is no heap with a collector to be looked into.
pub async fn heapstats(State(rest): Shared) -> Response {
    let body = |core: &CoreView<'_>| {
        json!({
            "memory": monitor::memory(),
            "heap": { "objectCount": core.engine.jobs_len(), "protectedCount": 0, "globalCount": 0 },
            "collections": monitor::collections(core),
            "topObjectTypes": [],
        })
    };
    view(&rest, body).await
}

pub async fn gc(State(rest): Shared) -> Response {
    let before = monitor::memory();
    match Call::new("CompactMemory").run(&rest.broker).await {
        Ok(_) => answer(StatusCode::OK, &Answer::ok(json!({ "before": before, "after": monitor::memory() }))),
        Err(down) => unavailable(&down.to_string()),
    }
}

/// Bare, unlike the command's answer.
pub async fn storage(State(rest): Shared) -> Response {
    view(&rest, monitor::storage).await
}

pub async fn dashboard(State(rest): Shared) -> Response {
    view(&rest, monitor::dashboard).await
}

pub async fn dashboard_queues(State(rest): Shared, uri: Uri) -> Response {
    let (limit, offset) = (number(&uri, "limit", 100, 1..=500), number(&uri, "offset", 0, 0..=usize::MAX));
    let body = move |core: &CoreView<'_>| {
        let queues = monitor::queue_list(core);
        let total = queues.len();
        let page: Vec<Value> = queues.into_iter().skip(offset).take(limit).collect();
        json!({ "queues": page, "total": total, "limit": limit, "offset": offset, "timestamp": core.now.0 })
    };
    view(&rest, body).await
}

/// The command's answer, without its `data` around it.
pub async fn dashboard_queue(State(rest): Shared, params: RawPathParams, uri: Uri) -> Response {
    let with_jobs = query(&uri).any(|(name, value)| name == "includeJobs" && value == "true");
    let call =
        Call::new("DashboardQueue").text("queue", param(&params, "queue")).json("includeJobs", &json!(with_jobs));
    unwrapped(&rest, &call, StatusCode::BAD_REQUEST, |mut all| all["data"].take()).await
}

/// A bare array.
pub async fn summary(State(rest): Shared) -> Response {
    match rest.broker.view(monitor::summary).await {
        Ok(list) => answer(StatusCode::OK, &Answer { ok: true, json: list.to_string() }),
        Err(down) => unavailable(&down.to_string()),
    }
}

pub async fn queue_workers(State(rest): Shared, params: RawPathParams) -> Response {
    let queue = param(&params, "queue").to_owned();
    let body = move |core: &CoreView<'_>| {
        let serving = core.engine.workers().filter(|worker| worker.queues.iter().any(|name| **name == *queue));
        json!({ "workers": serving.map(monitor::short_worker).collect::<Vec<_>>() })
    };
    view(&rest, body).await
}

/// A page of dead letters, and how many there are.
pub async fn dead_letters(State(rest): Shared, params: RawPathParams, uri: Uri) -> Response {
    let queue = param(&params, "queue");
    let filter = json!({
        "limit": number(&uri, "limit", DEAD_DEFAULT, 1..=DEAD_MAX),
        "offset": number(&uri, "offset", 0, 0..=usize::MAX),
    });
    let page = Call::new("Dlq").text("queue", queue).json("filter", &filter).run(&rest.broker).await;
    let stats = Call::new("GetDlqStats").text("queue", queue).run(&rest.broker).await;
    match (page, stats) {
        (Ok(page), Ok(stats)) if page.ok && stats.ok => {
            let (mut page, stats) = (page.tree(), stats.tree());
            let body = json!({ "entries": page["entries"].take(), "total": stats["data"]["stats"]["total"] });
            answer(StatusCode::OK, &Answer::ok(body))
        }
        (Ok(page), Ok(stats)) => answer(StatusCode::OK, if page.ok { &stats } else { &page }),
        (Err(down), _) | (_, Err(down)) => unavailable(&down.to_string()),
    }
}

/// Flat, unlike the command's answer.
pub async fn dead_letter_stats(State(rest): Shared, params: RawPathParams) -> Response {
    let call = Call::new("GetDlqStats").text("queue", param(&params, "queue"));
    unwrapped(&rest, &call, StatusCode::OK, |mut all| json!({ "stats": all["data"]["stats"].take() })).await
}

async fn unwrapped(rest: &Rest, call: &Call, refused: StatusCode, body: fn(Value) -> Value) -> Response {
    match call.run(&rest.broker).await {
        Ok(done) if done.ok => answer(StatusCode::OK, &Answer::ok(body(done.tree()))),
        Ok(done) => answer(refused, &done),
        Err(down) => unavailable(&down.to_string()),
    }
}

/// One job, as PULL gives it.
pub async fn pull(State(rest): Shared, params: RawPathParams, request: Request) -> Response {
    take(&rest, "PULL", params, request, |all| all["job"].is_null()).await
}

/// Several, as PULLB gives them.
pub async fn pull_batch(State(rest): Shared, params: RawPathParams, request: Request) -> Response {
    take(&rest, "PULLB", params, request, |all| all["jobs"].as_array().is_some_and(Vec::is_empty)).await
}

/// Looks for jobs until there are some or the time is over. Nothing waits in the core: a client that goes away while it
/// waits takes no job with it.
async fn take(
    rest: &Rest,
    cmd: &str,
    params: RawPathParams,
    request: Request,
    is_empty: fn(&Value) -> bool,
) -> Response {
    let (_, body, _room) = match read(rest, request).await {
        Ok(read) => read,
        Err(refused) => return *refused,
    };
    let timeout = body.number("timeout").unwrap_or(0.0).max(0.0);
    let until = Instant::now() + Duration::from_millis(timeout as u64).min(PULL_MAX);
    // The command itself says what is wrong with the time to wait; then it does not wait.
    let asked = Call::new(cmd).take_all(&body).text("queue", param(&params, "queue"));
    let waiting = if body_is_right(&body) { asked.json("timeout", &json!(0)) } else { asked };
    loop {
        let done = match waiting.run(&rest.broker).await {
            Ok(done) => done,
            Err(down) => return unavailable(&down.to_string()),
        };
        if !done.ok || Instant::now() >= until || !is_empty(&done.tree()) {
            return answer(StatusCode::OK, &done);
        }
        sleep(PULL_EVERY).await;
    }
}

fn body_is_right(body: &Body) -> bool {
    !body.has("timeout") || body.number("timeout").is_some_and(|timeout| (0.0..=60_000.0).contains(&timeout))
}

fn param<'a>(params: &'a RawPathParams, name: &str) -> &'a str {
    params.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
}
