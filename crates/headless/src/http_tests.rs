//! The window's door without a socket: who gets what, and what is refused.

use super::*;
use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::request;
use onceover_broker::{Broker, BrokerConfig, DataPlace};
use std::path::PathBuf;
use tower::ServiceExt;

const PORT: u16 = 6790;

/// A door before a broker of its own, which ends with it.
struct Bench {
    router: Router,
    token: String,
    folder: PathBuf,
    broker: Option<Broker>,
}

impl Bench {
    fn new(name: &str) -> Bench {
        let folder = std::env::temp_dir().join(format!("onceover-door-{}-{name}", std::process::id()));
        let broker = Broker::open(BrokerConfig::new(DataPlace::Folder(folder.clone()))).unwrap();
        let guard = Arc::new(Guard::new(PORT, "a token".to_owned()).unwrap());
        let token = guard.token().to_owned();
        let rest = Rest::new(Arc::clone(&guard), broker.handle(), rest::Cors::Origins(Vec::new()), false);
        let door = Door { guard, inspector: Inspector::new(broker.handle()), broker: broker.handle() };
        Bench { router: router(Arc::new(door), Arc::new(rest)), token, folder, broker: Some(broker) }
    }

    async fn ask(&self, request: request::Builder, body: &str) -> Response {
        self.router.clone().oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap()
    }

    async fn status(&self, request: request::Builder, body: &str) -> u16 {
        self.ask(request, body).await.status().as_u16()
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.broker = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn get(path: &str) -> request::Builder {
    Request::get(path).header(HOST, "127.0.0.1:6790")
}

fn post(path: &str) -> request::Builder {
    Request::post(path).header(HOST, "127.0.0.1:6790").header(CONTENT_TYPE, "application/json")
}

const OVERVIEW: &str = r#"{"type":"overview"}"#;

#[tokio::test]
async fn nothing_is_told_without_a_secret() {
    let bench = Bench::new("closed");
    assert_eq!(bench.status(post("/rpc"), OVERVIEW).await, 401);
    assert_eq!(bench.status(get("/changes"), "").await, 401);
    assert_eq!(bench.status(post("/session"), r#"{"token":"guess"}"#).await, 401);
    assert_eq!(bench.status(post("/session"), "{}").await, 401);
    assert_eq!(bench.status(get("/"), "").await, 200, "the page itself holds no secret");
}

#[tokio::test]
async fn the_token_gives_a_cookie_and_the_cookie_opens() {
    let bench = Bench::new("session");
    let token = format!(r#"{{"token":"{}"}}"#, bench.token);
    let response = bench.ask(post("/session"), &token).await;
    assert_eq!(response.status(), 204);
    let cookie = response.headers()[SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(bench.status(post("/rpc").header(COOKIE, &cookie), OVERVIEW).await, 200);
    assert_eq!(bench.status(get("/changes").header(COOKIE, &cookie), "").await, 200);
    assert_eq!(bench.status(post("/rpc").header("authorization", bench.bearer()), OVERVIEW).await, 200);
}

#[tokio::test]
async fn other_hosts_and_pages_are_turned_away_even_with_the_token() {
    let bench = Bench::new("others");
    let with_token = |request: request::Builder| request.header("authorization", bench.bearer());
    let foreign = Request::post("/rpc").header(HOST, "evil.example:6790").header(CONTENT_TYPE, "application/json");
    assert_eq!(bench.status(with_token(foreign), OVERVIEW).await, 403);
    assert_eq!(bench.status(with_token(post("/rpc").header(ORIGIN, "http://evil.example")), OVERVIEW).await, 403);
    assert_eq!(bench.status(with_token(post("/rpc").header(ORIGIN, "http://localhost:6790")), OVERVIEW).await, 200);
}

#[tokio::test]
async fn only_json_posts_are_requests() {
    let bench = Bench::new("json");
    let with_token = |request: request::Builder| request.header("authorization", bench.bearer());
    let plain = Request::post("/rpc").header(HOST, "127.0.0.1:6790").header(CONTENT_TYPE, "text/plain");
    assert_eq!(bench.status(with_token(plain), OVERVIEW).await, 415);
    assert_eq!(bench.status(with_token(post("/rpc")), "{").await, 400);
    assert_eq!(bench.status(with_token(post("/rpc")), r#"{"type":"nonsense"}"#).await, 400);
    assert_eq!(bench.status(with_token(get("/rpc")), "").await, 405);
    assert_eq!(bench.status(with_token(post("/")), "").await, 405);
    assert_eq!(bench.status(with_token(get("/../Cargo.toml")), "").await, 404);
    let huge = "x".repeat(BODY_BYTES_MAX + 1);
    assert_eq!(bench.status(with_token(post("/rpc")), &huge).await, 413);
}

#[tokio::test]
async fn every_answer_is_marked() {
    let bench = Bench::new("marked");
    for request in [get("/"), get("/nothing"), post("/rpc"), Request::get("/")] {
        let response = bench.ask(request, "").await;
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        assert_eq!(header(CONTENT_SECURITY_POLICY), Some(CONTENT_POLICY));
        assert_eq!(header(X_CONTENT_TYPE_OPTIONS), Some("nosniff"));
        assert_eq!(header(REFERRER_POLICY), Some("no-referrer"));
        assert!(header(CACHE_CONTROL).is_some());
        assert!(response.headers().keys().all(|name| !name.as_str().starts_with("access-control")));
    }
}
