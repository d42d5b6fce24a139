//! Schedules (protocol-admin.md 6), in virtual time: saving, firing, limits, overlap, restarts, and `repeat` of an add.

use crate::bench::{Bench, START, merged, text};
use serde_json::{Value as Json, json};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 86_400_000;

/// Saves the schedule `s` for queue `q` with these further fields.
fn save(bench: &mut Bench, fields: Json) -> Json {
    let request = merged(json!({"cmd": "Cron", "name": "s", "queue": "q", "data": {"n": 1}}), fields);
    bench.ok(&request)["cron"].clone()
}

fn get(bench: &mut Bench) -> Json {
    bench.ok(&json!({"cmd": "CronGet", "name": "s"}))["cron"].clone()
}

fn executions(bench: &mut Bench) -> Json {
    get(bench)["executions"].clone()
}

/// Milliseconds from the start to the next run.
fn next_run(cron: &Json) -> i64 {
    cron["nextRun"].as_f64().expect("a float") as i64 - START
}

fn waiting(bench: &mut Bench) -> Json {
    bench.counts()["waiting"].clone()
}

#[test]
fn a_schedule_as_clients_see_it() {
    let mut bench = Bench::new();
    let cron = save(
        &mut bench,
        json!({"jobName": "j", "repeatEvery": 1_000, "priority": 7, "maxLimit": 3, "timezone": "UTC"}),
    );
    let wanted = json!({"name": "s", "jobName": "j", "queue": "q", "schedule": null, "repeatEvery": 1_000,
        "nextRun": (START + 1_000) as f64, "executions": 0, "maxLimit": 3, "timezone": "UTC", "priority": 7});
    assert_eq!(cron, wanted);
    assert_eq!(get(&mut bench), wanted);
    let cron =
        merged(json!({"cmd": "Cron", "name": "a", "queue": "q", "schedule": "0 8 * * *"}), json!({"repeatEvery": 5}));
    let other = bench.ok(&cron)["cron"].clone();
    assert_eq!(
        (&other["schedule"], &other["repeatEvery"], &other["timezone"]),
        (&json!("0 8 * * *"), &json!(5), &json!(null))
    );
    assert_eq!((&other["maxLimit"], &other["jobName"]), (&json!(null), &json!("default")));
    assert_eq!(bench.ok(&json!({"cmd": "CronList"})), json!({"ok": true, "crons": [other, wanted]}));
    assert_eq!(bench.ok(&json!({"cmd": "CronDelete", "name": "a"})), json!({"ok": true}));
    for cmd in ["CronGet", "CronDelete"] {
        assert_eq!(bench.refusal(&json!({"cmd": cmd, "name": "a"})), "Cron job not found");
    }
}

#[test]
fn what_cannot_fire_is_not_stored() {
    let mut bench = Bench::new();
    let positive = "Cron repeatEvery must be a positive safe integer number of milliseconds";
    let cases = [
        (json!({}), "Cron job must have either schedule or repeatEvery"),
        (json!({"schedule": ""}), "Cron job must have either schedule or repeatEvery"),
        (
            json!({"schedule": {"$undefined": true}, "repeatEvery": null}),
            "Cron job must have either schedule or repeatEvery",
        ),
        (json!({"repeatEvery": 0}), positive),
        (json!({"repeatEvery": -5}), positive),
        (json!({"repeatEvery": 1.5}), positive),
        (json!({"repeatEvery": "5"}), positive),
        (json!({"repeatEvery": 9_007_199_254_740_992.0}), positive),
        (
            json!({"schedule": "61 * * * *"}),
            "Invalid cron expression: Invalid cron minute field \"61\": values must be between 0 and 59",
        ),
        (json!({"schedule": "0 0 30 2 *"}), "Invalid cron expression: Cron expression has no future occurrences"),
        (
            json!({"schedule": "* *"}),
            "Invalid cron expression: Cron expression must have 5 fields, or 6 fields with leading seconds",
        ),
        (json!({"schedule": 5}), "schedule must be a string"),
        (
            json!({"repeatEvery": 5, "timezone": "Nowhere/City"}),
            "Invalid cron expression: unknown time zone 'Nowhere/City'",
        ),
        (json!({"repeatEvery": 5, "jobName": ""}), "Job name must be a non-empty string of at most 256 characters"),
        (
            json!({"repeatEvery": 5, "preventOverlap": false, "dedup": {"ttl": 5}}),
            "Deduplication requires either hash: true or a custom key",
        ),
        (json!({"repeatEvery": 5, "jobOptions": {"maxAttempts": 0}}), "jobOptions.maxAttempts must be at least 1"),
        (json!({"repeatEvery": 5, "jobOptions": {"delay": -1}}), "jobOptions.delay must be at least 0"),
        (json!({"repeatEvery": 5, "jobOptions": {"backoff": "x"}}), "jobOptions.backoff must be a number"),
        (json!({"repeatEvery": 5, "queue": "bad name!"}), "Queue name contains invalid characters"),
        (json!({"repeatEvery": 5, "queue": null}), "Queue name is required"),
        (json!({"repeatEvery": 5, "name": "n".repeat(1_025)}), "name must be at most 1024 characters"),
    ];
    for (fields, text) in cases {
        let request = merged(json!({"cmd": "Cron", "name": "s", "queue": "q"}), fields);
        assert_eq!(bench.refusal(&request), text, "{request}");
    }
    assert_eq!(bench.ok(&json!({"cmd": "CronList"}))["crons"], json!([]));
    assert_eq!(bench.engine.next_deadline().map(|at| at.0 - START), Some(5_000), "nothing but the sweep is due");
}

#[test]
fn each_firing_adds_a_job_with_what_was_asked_for() {
    let mut bench = Bench::new();
    let options = json!({"maxAttempts": 5, "backoff": {"type": "fixed", "delay": 9}, "timeout": 77, "stallTimeout": 88,
        "removeOnComplete": true, "removeOnFail": true, "delay": 50});
    save(
        &mut bench,
        json!({"repeatEvery": 1_000, "priority": 3, "jobOptions": options, "data": {"name": "report", "n": 1}}),
    );
    assert_eq!(bench.through(999).counts()["delayed"], 0);
    bench.events();
    assert_eq!(bench.through(1_000).counts()["delayed"], 1);
    assert_eq!(bench.order(), "pushed reply");
    let answer = bench.at(1_050).ok(&json!({"cmd": "PULL", "queue": "q"}));
    let job = &answer["job"];
    assert_eq!(
        (&job["name"], &job["data"]),
        (&json!("report"), &json!({"n": 1})),
        "the name is lifted out of the data"
    );
    assert_eq!((&job["priority"], &job["maxAttempts"], &job["timeout"]), (&json!(3), &json!(5), &json!(77)));
    assert_eq!(
        (&job["stallTimeout"], &job["removeOnComplete"], &job["uniqueKey"]),
        (&json!(88), &json!(true), &json!("cron:s"))
    );
    assert_eq!(executions(&mut bench), 1);
}

#[test]
fn at_most_one_job_unless_overlap_is_allowed() {
    let mut bench = Bench::new();
    save(&mut bench, json!({"repeatEvery": 1_000}));
    bench.ok(&json!({"cmd": "Cron", "name": "free", "queue": "f", "repeatEvery": 1_000, "preventOverlap": false}));
    bench.ok(&json!({"cmd": "Cron", "name": "own", "queue": "o", "repeatEvery": 1_000, "uniqueKey": "k", "dedup": {"replace": true}}));
    bench.through(3_000);
    assert_eq!(waiting(&mut bench), 1);
    let mut count = |queue: &str| bench.ok(&json!({"cmd": "Count", "queue": queue}))["count"].clone();
    assert_eq!((count("f"), count("o")), (json!(3), json!(1)));
    let owner = |bench: &mut Bench, queue: &str, key: &str| {
        text(
            &bench.ok(&json!({"cmd": "GetDeduplicationJobId", "queue": queue, "deduplicationId": key}))["data"]["jobId"],
        )
    };
    let before = owner(&mut bench, "o", "k");
    assert!(!before.is_empty() && !owner(&mut bench, "q", "cron:s").is_empty());
    bench.through(4_000);
    assert_ne!(owner(&mut bench, "o", "k"), before, "the schedule's strategy is the key's");
    assert_eq!(executions(&mut bench), 4, "a firing that collapsed counts");
    let (id, token) = bench.lock(30_000);
    bench.through(5_000);
    assert_eq!(waiting(&mut bench), 0, "nor beside the one that runs");
    bench.ok(&json!({"cmd": "ACK", "id": id, "token": token}));
    bench.through(6_000);
    assert_eq!(waiting(&mut bench), 1);
}

#[test]
fn a_limit_ends_a_schedule_and_its_row() {
    let mut bench = Bench::new();
    save(&mut bench, json!({"repeatEvery": 400, "maxLimit": 3}));
    bench.through(1_200);
    assert_eq!(executions(&mut bench), 3);
    assert_eq!(waiting(&mut bench), 1);
    bench.through(1_599);
    assert_eq!(executions(&mut bench), 3, "it is listed until it would be due again");
    bench.through(1_600);
    assert_eq!(bench.refusal(&json!({"cmd": "CronGet", "name": "s"})), "Cron job not found");
    assert_eq!(waiting(&mut bench), 1);
    for unlimited in [0, -1] {
        assert_eq!(save(&mut bench, json!({"repeatEvery": 400, "maxLimit": unlimited}))["maxLimit"], json!(null));
    }
    bench.restart(0);
    bench.at(1_600 + 10);
    save(&mut bench, json!({"repeatEvery": 400, "maxLimit": 1, "queue": "other"}));
    bench.through(2_100).restart(0);
    bench.through(2_500);
    assert_eq!(bench.ok(&json!({"cmd": "CronList"}))["crons"], json!([]), "also after a restart");
}

#[test]
fn saving_again_changes_the_one_schedule() {
    let mut bench = Bench::new();
    save(&mut bench, json!({"repeatEvery": 1_000, "data": {"n": 1}}));
    bench.through(1_500);
    let cron = save(&mut bench, json!({"repeatEvery": 1_000, "data": {"n": 2}, "immediately": true}));
    assert_eq!(
        (next_run(&cron), &cron["executions"]),
        (2_000, &json!(1)),
        "the same timing goes on, what was counted too"
    );
    let first = bench.ok(&json!({"cmd": "PULL", "queue": "q"}))["job"].clone();
    assert_eq!(first["data"]["n"], 1);
    bench.ok(&json!({"cmd": "ACK", "id": first["id"]}));
    bench.through(2_000);
    assert_eq!(bench.ok(&json!({"cmd": "PULL", "queue": "q"}))["job"]["data"]["n"], 2);
    bench.through(2_100);
    let cron = save(&mut bench, json!({"repeatEvery": 5_000}));
    assert_eq!(next_run(&cron), 7_100, "another timing begins now");
    assert_eq!(bench.ok(&json!({"cmd": "CronList"}))["crons"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_change_takes_a_waiting_job_back_where_that_is_asked_for() {
    let mut bench = Bench::new();
    save(&mut bench, json!({"repeatEvery": 1_000}));
    bench.through(1_000);
    save(&mut bench, json!({"repeatEvery": 2_000}));
    assert_eq!(waiting(&mut bench), 1, "not without the word");
    bench.events();
    save(&mut bench, json!({"repeatEvery": 3_000, "preventOverlap": true}));
    assert_eq!((waiting(&mut bench), bench.order().as_str()), (json!(0), "removed reply reply"));
    bench.push(json!({"uniqueKey": "cron:s"}));
    save(&mut bench, json!({"repeatEvery": 4_000, "preventOverlap": true}));
    assert_eq!(waiting(&mut bench), 1, "somebody else's job with that key stays");
}

#[test]
fn immediately_is_now_and_then_as_the_timing_says() {
    let mut bench = Bench::new();
    let cron = save(&mut bench, json!({"repeatEvery": 1_000, "immediately": true}));
    assert_eq!((next_run(&cron), &cron["executions"]), (0, &json!(0)));
    assert_eq!(waiting(&mut bench), 1);
    let cron = get(&mut bench);
    assert_eq!((next_run(&cron), &cron["executions"]), (1_000, &json!(1)));
    // The start is a second 20 of a minute.
    let request = json!({"cmd": "Cron", "name": "p", "queue": "p", "schedule": "* * * * *", "immediately": true});
    bench.ok(&request);
    let cron = bench.ok(&json!({"cmd": "CronGet", "name": "p"}))["cron"].clone();
    assert_eq!((next_run(&cron), &cron["executions"]), (40_000, &json!(1)));
}

#[test]
fn without_a_worker_a_run_is_left_out_where_that_is_asked_for() {
    let mut bench = Bench::new();
    save(&mut bench, json!({"repeatEvery": 1_000, "skipIfNoWorker": true}));
    let register = |queues: Json| json!({"cmd": "RegisterWorker", "workerId": "w", "name": "w", "queues": queues});
    bench.ok(&register(json!(["other"])));
    bench.through(2_500);
    assert_eq!((waiting(&mut bench), executions(&mut bench)), (json!(0), json!(0)));
    assert_eq!(next_run(&get(&mut bench)), 3_000, "it moves on");
    bench.ok(&register(json!(["other", "q"])));
    bench.through(3_000);
    assert_eq!((waiting(&mut bench), executions(&mut bench)), (json!(1), json!(1)));
}

#[test]
fn a_clock_that_goes_ahead_fires_once() {
    let mut bench = Bench::new();
    save(&mut bench, json!({"schedule": "* * * * *", "preventOverlap": false}));
    bench.ok(&json!({"cmd": "Cron", "name": "i", "queue": "i", "repeatEvery": MINUTE, "preventOverlap": false}));
    bench.at(DAY);
    assert_eq!((waiting(&mut bench), executions(&mut bench)), (json!(1), json!(1)));
    assert_eq!(bench.ok(&json!({"cmd": "Count", "queue": "i"}))["count"], 1);
    assert_eq!(next_run(&get(&mut bench)), DAY + 40_000, "at the next full minute");
    let interval = bench.ok(&json!({"cmd": "CronGet", "name": "i"}))["cron"].clone();
    assert_eq!(next_run(&interval), DAY + MINUTE, "on its own grid");
}

#[test]
fn after_a_restart_missed_runs_are_left_out_or_made_up_for_once() {
    for (fields, made_up) in [
        (json!({}), false),
        (json!({"skipMissedOnRestart": true}), false),
        (json!({"skipMissedOnRestart": false}), true),
        (json!({"skipMissedOnRestart": false, "skipIfNoWorker": true}), false),
    ] {
        for timing in [json!({"repeatEvery": MINUTE}), json!({"schedule": "20 * * * * *"})] {
            let mut bench = Bench::new();
            save(&mut bench, merged(merged(timing, json!({"preventOverlap": false})), fields.clone()));
            bench.restart(1_000);
            assert_eq!(next_run(&get(&mut bench)), MINUTE, "the next run is kept");
            bench.restart(3 * MINUTE + 500);
            assert_eq!(
                (waiting(&mut bench), executions(&mut bench)),
                (json!(made_up as u8), json!(made_up as u8)),
                "{fields}"
            );
            assert_eq!(next_run(&get(&mut bench)), 4 * MINUTE);
            bench.ok(&json!({"cmd": "RegisterWorker", "name": "w", "queues": ["q"]}));
            bench.through(4 * MINUTE);
            assert_eq!(executions(&mut bench), 1 + made_up as u8);
        }
    }
}

#[test]
fn a_clock_that_was_set_back_while_nobody_ran_fires_nothing_twice() {
    let mut bench = Bench::new();
    save(&mut bench, json!({"schedule": "0 * * * *", "preventOverlap": false}));
    bench.through(2 * HOUR);
    let before = get(&mut bench);
    assert_eq!(before["executions"], 2);
    bench.restart(-HOUR);
    assert_eq!(get(&mut bench), before);
    bench.through(next_run(&before) - 1);
    assert_eq!(executions(&mut bench), 2);
    bench.through(next_run(&before));
    assert_eq!(executions(&mut bench), 3);
}

#[test]
fn a_lost_job_is_dropped_where_its_schedule_makes_another() {
    type Loss = fn(&mut Bench);
    let losses: [Loss; 3] =
        [|bench| _ = bench.drop_conn(1), |bench| _ = bench.through(10_000), |bench| _ = bench.restart(0)];
    for lose in losses {
        let mut bench = Bench::new();
        save(&mut bench, json!({"repeatEvery": HOUR, "immediately": true}));
        let (id, _) = bench.lock(2_000);
        assert!(!id.is_empty());
        lose(&mut bench);
        assert_eq!(bench.state(&id), "unknown");
        let key = json!({"cmd": "GetDeduplicationJobId", "queue": "q", "deduplicationId": "cron:s"});
        assert_eq!(bench.ok(&key)["data"]["jobId"], json!(null), "the next firing finds the key free");
        bench.through(HOUR);
        assert_eq!(waiting(&mut bench), 1);
    }
}

#[test]
fn a_lost_job_is_put_back_like_any_other_in_every_other_case() {
    let mut bench = Bench::new();
    // The text of a key means nothing.
    let manual = bench.push(json!({"uniqueKey": "cron:x"}));
    bench.pull(json!({}));
    bench.drop_conn(1);
    assert_eq!(bench.state(&manual), "waiting");
    bench.pull(json!({}));
    bench.ok(&json!({"cmd": "ACK", "id": manual}));
    for fields in [json!({"preventOverlap": false}), json!({"uniqueKey": "k"}), json!({"maxLimit": 1})] {
        save(&mut bench, merged(json!({"repeatEvery": HOUR, "immediately": true}), fields.clone()));
        let (id, _) = bench.pull(json!({}));
        bench.drop_conn(1);
        assert_eq!(bench.state(&id), "waiting", "{fields}");
        bench.ok(&json!({"cmd": "Cancel", "id": id}));
        bench.ok(&json!({"cmd": "CronDelete", "name": "s"}));
    }
    save(&mut bench, json!({"repeatEvery": HOUR, "immediately": true}));
    let (id, _) = bench.pull(json!({}));
    bench.ok(&json!({"cmd": "CronDelete", "name": "s"}));
    bench.drop_conn(1);
    assert_eq!(bench.state(&id), "waiting", "nothing makes another any more");
    let (id, _) = bench.pull(json!({}));
    bench.ok(&json!({"cmd": "FAIL", "id": id}));
    assert_eq!(bench.state(&id), "delayed", "an attempt that failed is tried again");
}

#[test]
fn obliterate_leaves_the_schedules_that_add_to_the_queue() {
    let mut bench = Bench::new();
    save(&mut bench, json!({"repeatEvery": 1_000}));
    bench.through(1_000).ok(&json!({"cmd": "Obliterate", "queue": "q"}));
    assert_eq!(executions(&mut bench), 1);
    bench.through(2_000);
    assert_eq!(waiting(&mut bench), 1);
}

#[test]
fn a_repeat_by_the_calendar() {
    let mut bench = Bench::new();
    let repeat = json!({"pattern": "0 3 * * *", "tz": "Europe/Berlin", "limit": 2, "immediately": true});
    let id = bench.push(json!({"repeat": repeat}));
    let shown = bench.job(&id)["repeat"].clone();
    assert_eq!(shown, json!({"pattern": "0 3 * * *", "tz": "Europe/Berlin", "count": 0, "limit": 2}));
    // The start is 23:13:20 in Berlin, the next three o'clock 3 h 46 m 40 s later.
    let due = 3 * HOUR + 46 * MINUTE + 40_000;
    for (at, next) in [(0, due), (due, DAY + due)] {
        let (id, _) = bench.through(at).pull(json!({}));
        bench.ok(&json!({"cmd": "ACK", "id": id}));
        assert_eq!(bench.counts()["delayed"], 1);
        let jobs = bench.ok(&json!({"cmd": "GetJobs", "queue": "q", "state": "delayed"}))["jobs"].clone();
        assert_eq!(jobs[0]["runAt"].as_f64(), Some((START + next) as f64));
        bench.restart(0);
    }
    let (id, _) = bench.through(DAY + due).pull(json!({}));
    bench.ok(&json!({"cmd": "ACK", "id": id}));
    assert_eq!(bench.counts()["delayed"], 0, "two successors, as limit says");
}

#[test]
fn a_repeat_with_a_beginning_and_an_end() {
    let mut bench = Bench::new();
    bench.push(json!({"repeat": {"every": 1_000, "startDate": START + 5_000, "endDate": START + 6_500}}));
    let mut runs = Vec::new();
    for at in (0..10_000).step_by(500) {
        let (id, _) = bench.through(at).pull(json!({}));
        if !id.is_empty() {
            runs.push(at);
            bench.ok(&json!({"cmd": "ACK", "id": id}));
        }
    }
    assert_eq!(runs, [0, 5_000, 6_000]);
    bench.push(json!({"repeat": {"pattern": "0 0 * * *", "endDate": START + 10}}));
    let (id, _) = bench.pull(json!({}));
    bench.ok(&json!({"cmd": "ACK", "id": id}));
    assert_eq!(bench.counts()["delayed"], 0);
}
