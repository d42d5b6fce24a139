//! Questions about the broker as a whole, and each bad field.

use crate::decode::decode;
use crate::request::{Monitor, Request};
use crate::testing::pack;
use serde_json::{Value as Json, json};

fn asked(json: &Json) -> Result<Monitor, String> {
    match decode(&pack(json)).result {
        Ok(Request::Monitor(question)) => Ok(question),
        Ok(other) => panic!("{json}: {other:?}"),
        Err(error) => Err(error.text),
    }
}

#[test]
fn each_question() {
    let queue = |jobs| Monitor::Queue { queue: "q".into(), jobs };
    let minutes = |failed, start, end| Monitor::QueueMetrics { queue: "q".into(), failed, start, end };
    let table = vec![
        (json!({"cmd": "Stats"}), Monitor::Stats),
        (json!({"cmd": "Metrics"}), Monitor::Metrics),
        (json!({"cmd": "Metrics", "queue": "q", "type": "completed", "start": 0, "end": -1}), minutes(false, 0, None)),
        (json!({"cmd": "Metrics", "queue": "q", "type": "failed", "start": 2, "end": 5}), minutes(true, 2, Some(5))),
        (json!({"cmd": "Prometheus"}), Monitor::Prometheus),
        (json!({"cmd": "StorageStatus"}), Monitor::StorageStatus),
        (json!({"cmd": "CompactMemory"}), Monitor::CompactMemory),
        (json!({"cmd": "DashboardOverview"}), Monitor::Overview),
        (json!({"cmd": "DashboardQueues"}), Monitor::Queues),
        (json!({"cmd": "DashboardQueue", "queue": "q"}), queue(None)),
        (json!({"cmd": "DashboardQueue", "queue": "q", "includeJobs": true}), queue(Some(10))),
        (json!({"cmd": "DashboardQueue", "queue": "q", "includeJobs": true, "jobsLimit": 900}), queue(Some(50))),
        (json!({"cmd": "TrimEvents", "queue": "q", "maxLength": 0}), Monitor::TrimEvents),
    ];
    for (json, question) in table {
        assert_eq!(asked(&json), Ok(question), "{json}");
    }
}

#[test]
fn each_bad_field() {
    let length = "maxLength must be a non-negative safe integer";
    let table = vec![
        (json!({"cmd": "DashboardQueue"}), "Queue name is required"),
        (json!({"cmd": "DashboardQueue", "queue": "q", "includeJobs": 1}), "includeJobs must be a boolean"),
        (json!({"cmd": "DashboardQueue", "queue": "q", "jobsLimit": "x"}), "jobsLimit must be a number"),
        (json!({"cmd": "TrimEvents", "maxLength": 1}), "Queue name is required"),
        (json!({"cmd": "TrimEvents", "queue": "q"}), length),
        (json!({"cmd": "TrimEvents", "queue": "q", "maxLength": -1}), length),
        (json!({"cmd": "TrimEvents", "queue": "q", "maxLength": 1.5}), length),
        (json!({"cmd": "TrimEvents", "queue": "q", "maxLength": "1"}), length),
    ];
    for (json, error) in table {
        assert_eq!(asked(&json), Err(error.to_owned()), "{json}");
    }
}
