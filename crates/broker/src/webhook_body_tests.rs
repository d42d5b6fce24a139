//! The bodies, byte by byte, and a signature that was made by another program.

use super::*;
use onceover_engine::names::JobId;
use onceover_engine::time::Timestamp;

fn event(kind: EventKind) -> Event {
    Event { queue: "q".into(), job: Some(JobId::parse("j")), at: Timestamp(1_700_000_000_000), kind }
}

fn body(kind: EventKind) -> String {
    let event = event(kind);
    let what = WebhookEvent::of(&event.kind).unwrap();
    String::from_utf8(Signed::new(what, &event, None).body.to_vec()).unwrap()
}

#[test]
fn bodies() {
    let start = |event| format!(r#"{{"event":"{event}","timestamp":1700000000000,"jobId":"j","queue":"q""#);
    let payload = || Some(Blob::Here(vec![0x81, 0xa1, b'a', 0x01].into()));
    let failed = EventKind::Failed { error: Some("no \"luck\"".to_owned()), data: payload(), terminal: Some(true) };
    let table = [
        (EventKind::Pushed, start("job.pushed") + "}"),
        (EventKind::Pulled, start("job.started") + "}"),
        (EventKind::Completed { result: Some(vec![0x07].into()) }, start("job.completed") + r#","data":7}"#),
        (EventKind::Completed { result: None }, start("job.completed") + "}"),
        (failed, start("job.failed") + r#","data":{"a":1},"error":"no \"luck\""}"#),
        (
            EventKind::Progress { progress: 50.0, message: Some("half".to_owned()) },
            start("job.progress") + r#","progress":50.0}"#,
        ),
    ];
    for (kind, wanted) in table {
        assert_eq!(body(kind), wanted);
    }
}

#[test]
fn the_signature_is_of_the_body() {
    // printf '%s' BODY | openssl dgst -sha256 -hmac secret
    let secret = Secret("secret".into());
    let signed = Signed::new(WebhookEvent::Pushed, &event(EventKind::Pushed), Some(&secret));
    assert_eq!(signed.signature.as_deref(), Some("a5f1fa0f216bf7a20eb4e79346512b573127339d27ddb683ffceb7407611a0c9"));
    assert_eq!((signed.event, signed.timestamp), ("job.pushed", 1_700_000_000_000));
}
