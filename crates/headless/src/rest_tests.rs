//! The interface without a socket: who is let in, and that every route of the table is there.

use super::*;
use axum::http::header::HOST;
use axum::http::request;
use onceover_broker::{Broker, BrokerConfig, DataPlace};
use serde_json::Value;
use tower::ServiceExt;

struct Bench {
    router: Router,
    rest: Arc<Rest>,
    _broker: Broker,
}

fn bench(tokens: &[&str], cors: Cors, read_only: bool) -> Bench {
    let mut config = BrokerConfig::new(DataPlace::temporary());
    config.auth_tokens = tokens.iter().map(|token| (*token).to_owned()).collect();
    let broker = Broker::open(config).unwrap();
    let guard = Arc::new(Guard::new(6790, "page token".to_owned()).unwrap());
    let rest = Arc::new(Rest::new(guard, broker.handle(), cors, read_only));
    Bench { router: router(Arc::clone(&rest)), rest, _broker: broker }
}

fn open_bench() -> Bench {
    bench(&[], Cors::Origins(Vec::new()), false)
}

impl Bench {
    async fn ask(&self, request: request::Builder, body: &str) -> (u16, HeaderMap, Value) {
        let request = request.body(HttpBody::from(body.to_owned())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let text = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        (parts.status.as_u16(), parts.headers, serde_json::from_slice(&text).unwrap_or_default())
    }

    async fn status(&self, request: request::Builder) -> u16 {
        self.ask(request, "").await.0
    }
}

fn to(method: &str, path: &str) -> request::Builder {
    Request::builder().method(method).uri(path).header(HOST, "127.0.0.1:6790")
}

#[tokio::test]
async fn every_route_of_the_table_is_answered_in_json() {
    let bench = open_bench();
    for route in ROUTES {
        let path = route.path.replace("{queue}", "q").replace("{id}", "j").replace(['{', '}'], "");
        let (status, _, body) = bench.ask(to(route.method, &path), "").await;
        assert!(body["ok"].is_boolean(), "{} {path}: {status} {body}", route.method);
        let wanted = if body["ok"] == true { 200 } else { route.refused };
        assert_eq!(status, wanted, "{} {path}: {body}", route.method);
    }
}

#[tokio::test]
async fn where_clients_need_a_token_it_needs_one() {
    let bench = bench(&["secret"], Cors::Origins(Vec::new()), false);
    for path in ["/queues", "/dashboard", "/events", "/prometheus", "/metrics"] {
        assert_eq!(bench.status(to("GET", path)).await, 401, "{path}");
        assert_eq!(bench.status(to("GET", path).header(AUTHORIZATION, "Bearer wrong")).await, 401, "{path}");
    }
    for token in ["Bearer secret", "secret", "Bearer page token"] {
        assert_eq!(bench.status(to("GET", "/queues").header(AUTHORIZATION, token)).await, 200, "{token}");
    }
    for path in ["/health", "/healthz", "/live", "/ready"] {
        assert_eq!(bench.status(to("GET", path)).await, 200, "{path}");
    }
}

#[tokio::test]
async fn other_pages_are_let_in_by_name_only() {
    let bench = bench(&[], Cors::Origins(vec!["http://dash.example".to_owned(), "http://b".to_owned()]), false);
    let from = |origin| to("POST", "/queues/q/pause").header(ORIGIN, origin);
    assert_eq!(bench.status(from("http://evil.example")).await, 403);
    assert_eq!(bench.status(from("null")).await, 403);
    let (status, headers, _) = bench.ask(from("http://dash.example"), "").await;
    assert_eq!(
        (status, &headers[ACCESS_CONTROL_ALLOW_ORIGIN]),
        (200, &HeaderValue::from_static("http://dash.example"))
    );
    let preflight = to("OPTIONS", "/queues/q/pause").header(ORIGIN, "http://b");
    let (status, headers, _) = bench.ask(preflight, "").await;
    assert_eq!((status, &headers[ACCESS_CONTROL_ALLOW_ORIGIN]), (204, &HeaderValue::from_static("http://b")));
    assert_eq!(bench.status(to("OPTIONS", "/queues/q/pause").header(ORIGIN, "http://evil.example")).await, 403);
    let (_, headers, _) = bench.ask(from("http://127.0.0.1:6790"), "").await;
    assert!(!headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN), "our own page needs no leave");
    let rebound = Request::builder().method("GET").uri("/queues").header(HOST, "evil.example:6790");
    assert_eq!(bench.status(rebound).await, 403);
}

#[tokio::test]
async fn get_changes_nothing_and_a_read_only_interface_neither() {
    let bench = open_bench();
    assert_eq!(bench.status(to("GET", "/queues/q/jobs")).await, 405);
    assert_eq!(bench.status(to("GET", "/queues/q/pause")).await, 405);
    let looking = super::rest_tests::bench(&[], Cors::Any, true);
    assert_eq!(looking.status(to("POST", "/queues/q/pause")).await, 403);
    assert_eq!(looking.status(to("GET", "/queues")).await, 200);
}

#[tokio::test]
async fn bodies_are_json_objects_of_a_bounded_size() {
    let bench = open_bench();
    let push = || to("POST", "/queues/q/jobs");
    for (body, wanted) in [("{", 400), ("[]", 400), ("{}", 200), ("", 200)] {
        assert_eq!(bench.ask(push(), body).await.0, wanted, "{body}");
    }
    let form = push().header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    assert_eq!(bench.ask(form, "{}").await.0, 415);
    assert_eq!(bench.ask(push(), &" ".repeat(BODY_BYTES_MAX + 1)).await.0, 413);
    let announced = push().header("content-length", "99999999999");
    assert_eq!(bench.ask(announced, "").await.0, 413);
    assert_eq!(bench.rest.bodies.available_permits(), ALL_BODIES_BYTES_MAX, "every share is given back");
}

#[tokio::test]
async fn the_path_wins_over_the_body_and_is_decoded() {
    let bench = open_bench();
    let (_, _, added) =
        bench.ask(to("POST", "/queues/q/jobs"), r#"{"queue": "other", "jobId": "a b", "attempts": 7}"#).await;
    assert_eq!(added["id"], "a b");
    let (status, _, job) = bench.ask(to("GET", "/jobs/a%20b"), "").await;
    assert_eq!((status, &job["job"]["queue"], &job["job"]["name"]), (200, &"q".into(), &"default".into()));
    assert_eq!(job["job"]["maxAttempts"], 7);
    let page = bench.ask(to("GET", "/queues/q/jobs/list?status=waiting,delayed&state=active&limit=5"), "").await;
    assert_eq!(page.2["jobs"].as_array().map(Vec::len), Some(1));
    let (_, _, bad) = bench.ask(to("GET", "/queues/q/jobs/list?limit=x"), "").await;
    assert_eq!(bad["error"], "limit must be a number");
}

#[tokio::test]
async fn jobs_are_taken_by_post_and_waited_for_in_steps() {
    let bench = open_bench();
    let pull = |body: &'static str| bench.ask(to("POST", "/queues/q/jobs/pull-batch"), body);
    let began = tokio::time::Instant::now();
    let (_, _, none) = pull(r#"{"count": 2, "timeout": 250}"#).await;
    assert_eq!(none["jobs"], Value::Array(Vec::new()));
    assert!(began.elapsed() >= Duration::from_millis(250));
    bench.ask(to("POST", "/queues/q/jobs"), r#"{"jobId": "a"}"#).await;
    let (_, _, taken) = pull(r#"{"count": 2, "timeout": 250}"#).await;
    assert_eq!(taken["jobs"][0]["id"], "a");
    let (_, _, bad) = pull(r#"{"count": 2, "timeout": -1}"#).await;
    assert_eq!(bad["error"], "timeout must be at least 0");
    assert_eq!(bench.ask(to("POST", "/jobs/a/ack"), r#"{"result": {"b": 1}}"#).await.0, 200);
    assert_eq!(bench.ask(to("GET", "/jobs/a/result"), "").await.2["result"]["b"], 1);
}
