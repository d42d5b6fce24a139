//! Fields to frames, by the answers of a broker.

use super::*;
use onceover_broker::{Broker, BrokerConfig, DataPlace};
use serde_json::json;

fn broker() -> Broker {
    Broker::open(BrokerConfig::new(DataPlace::temporary())).unwrap()
}

#[tokio::test]
async fn a_body_is_spliced_in_and_the_answer_is_the_clients() {
    let broker = broker();
    let body =
        Body::parse(br#"{"name": "n", "data": {"z": 1, "a": [9007199254740993]}, "cmd": "Obliterate", "jobId": "j"}"#);
    let added = Call::new("PUSH").take_all(&body.unwrap()).text("queue", "q").run(&broker.handle()).await.unwrap();
    assert_eq!(added, Answer { ok: true, json: r#"{"ok":true,"id":"j"}"#.to_owned() });
    let job = Call::new("GetJob").text("id", "j").run(&broker.handle()).await.unwrap().json;
    assert!(job.contains(r#""data":{"z":1,"a":[9007199254740993]}"#), "{job}");
    let again = Call::new("Update").text("id", "j").nest(&Body::parse(b"{\"b\": 2}").unwrap(), "data");
    assert!(again.run(&broker.handle()).await.unwrap().ok);
}

#[tokio::test]
async fn mistakes_are_told_as_clients_are_told() {
    let broker = broker();
    let bad = Call::new("PUSH").text("queue", "b d").run(&broker.handle()).await.unwrap();
    assert_eq!(bad.tree(), Answer::error("Queue name contains invalid characters").tree());
    let unknown = Call::new("Nothing").run(&broker.handle()).await.unwrap();
    assert_eq!(unknown.tree(), Answer::error("Unknown command: Nothing").tree());
    let stats = Call::new("Stats").run(&broker.handle()).await.unwrap().tree();
    assert_eq!((&stats["ok"], &stats["stats"]["waiting"]), (&json!(true), &json!(0)));
    for text in ["{", "[1]", "1", "null"] {
        assert!(Body::parse(text.as_bytes()).is_err(), "{text}");
    }
    assert!(!Body::parse(b" ").unwrap().has("a"));
}
