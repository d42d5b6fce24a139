//! Who is let in at the window's door.

use super::*;
use axum::http::{HeaderName, HeaderValue};

fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).expect("a header's value"))).collect()
}

#[test]
fn only_our_host_and_origin_are_ours() {
    let guard = Guard::new(6790, "a token".to_owned()).expect("random bytes");
    let host = |value| headers(&[(HOST, value)]);
    let from = |origin| headers(&[(HOST, "127.0.0.1:6790"), (ORIGIN, origin)]);
    for good in ["127.0.0.1:6790", "localhost:6790", "LocalHost:6790"] {
        assert!(guard.is_ours(&host(good)), "{good}");
    }
    for bad in
        ["127.0.0.1", "127.0.0.1:6791", "evil.example:6790", "evil.example", "127.0.0.1:6790.evil.example", ":6790"]
    {
        assert!(!guard.is_ours(&host(bad)), "{bad}");
    }
    assert!(!guard.is_ours(&HeaderMap::new()));
    assert!(guard.is_ours(&from("http://127.0.0.1:6790")) && guard.is_ours(&from("http://localhost:6790")));
    for bad in ["null", "http://evil.example", "https://127.0.0.1:6790", "http://127.0.0.1:80", ""] {
        assert!(!guard.is_ours(&from(bad)), "{bad}");
    }
    let mut twice = host("127.0.0.1:6790");
    twice.append(HOST, HeaderValue::from_static("evil.example"));
    assert!(!guard.is_ours(&twice));
}

#[test]
fn the_token_and_the_cookie_open_the_door() {
    let guard = Guard::new(1, "a token".to_owned()).expect("random bytes");
    let cookie = guard.cookie();
    let pair = cookie.split(';').next().expect("a cookie starts with its pair");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
    assert!(guard.knows(&headers(&[(COOKIE, pair)])));
    assert!(guard.knows(&headers(&[(COOKIE, &format!("other=1; {pair}; more=2"))])));
    assert!(guard.knows(&headers(&[(AUTHORIZATION, &format!("Bearer {}", guard.token()))])));
    let strange = [format!("Bearer {}x", guard.token()), format!("Basic {}", guard.token()), "Bearer ".to_owned()];
    for value in strange {
        assert!(!guard.knows(&headers(&[(AUTHORIZATION, &value)])), "{value}");
    }
    let swapped = [format!("onceover_1={}", guard.token()), pair.replace("onceover_1", "onceover_2")];
    for value in swapped {
        assert!(!guard.knows(&headers(&[(COOKIE, &value)])), "{value}");
    }
    assert!(!guard.knows(&HeaderMap::new()));
}

#[test]
fn sessions_differ_each_time() {
    let [a, b] = [1, 1].map(|port| Guard::new(port, "a token".to_owned()).expect("random bytes"));
    assert!(a.session != b.session && a.session != a.token());
}
