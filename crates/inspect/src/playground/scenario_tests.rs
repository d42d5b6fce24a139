//! What each shipped scenario comes to, and what a scenario from a file may say.
use super::scenario::{Scenario, parse, shipped};
use super::session::Session;
use crate::view::{Decision, JobState, LaneEnding, LaneView, PlayClock, PlayRun};
use std::time::Instant;

fn named(id: &str) -> Scenario {
    shipped().into_iter().find(|scenario| scenario.id == id).unwrap()
}

/// Plays a scenario to its end.
fn played(id: &str) -> PlayRun {
    let mut session = Session::new(named(id), 1, Instant::now());
    for _ in 0..1_000 {
        session.step();
        if session.view(None).clock == PlayClock::Done {
            return *session.view(None).run.unwrap();
        }
    }
    panic!("{id} does not end");
}

/// Jobs, runs, absorbed, removed and rejected of each lane, and which data ran last.
fn outcome(run: &PlayRun) -> Vec<(&str, [u32; 5], Option<u32>)> {
    let lane = |lane: &LaneView| {
        let it = &lane.figures;
        ([it.jobs, it.runs, it.absorbed, it.removed, it.rejected], it.last_run)
    };
    run.lanes.iter().map(|view| (&*view.title, lane(view).0, lane(view).1)).collect()
}

fn ran(run: &PlayRun) -> Vec<&str> {
    run.lanes.iter().map(|lane| &*lane.figures.ran).collect()
}

#[test]
fn double_click_runs_once_with_a_job_id() {
    let run = played("double-click");
    let wanted = [("no id", [2, 2, 0, 0, 0], Some(1)), ("job ID", [1, 1, 1, 0, 0], Some(1))];
    assert_eq!(outcome(&run), wanted);
    assert_eq!(ran(&run), ["v1 ran twice.", "v1 ran once."]);
    assert_eq!(run.lanes[1].adds[1].decision, Decision::ExistingJobId);
}

#[test]
fn webhook_storm_is_absorbed_by_a_window_only() {
    let run = played("webhook-storm");
    let wanted = [
        ("no id", [8, 8, 0, 0, 0], Some(1)),
        ("plain key", [6, 6, 2, 0, 0], Some(1)),
        ("key, TTL 8 s", [1, 1, 7, 0, 0], Some(1)),
    ];
    assert_eq!(outcome(&run), wanted);
    let key = &run.lanes[2].keys[0];
    assert_eq!((key.from, key.owner_ended, key.to, key.until), (400, Some(900), Some(8_400), Some(8_400)));
}

#[test]
fn search_as_you_type_runs_the_first_text_with_extend_and_the_last_with_replace() {
    let run = played("search-as-you-type");
    let wanted = [
        ("no id, delay 1 s", [6, 6, 0, 0, 0], Some(6)),
        ("extend, TTL 1,500 ms, delay 1 s", [1, 1, 5, 0, 0], Some(1)),
        ("replace, TTL 1,500 ms, delay 1 s", [6, 1, 0, 5, 0], Some(6)),
    ];
    assert_eq!(outcome(&run), wanted);
    assert_eq!(ran(&run)[1], "v1 ran last: the oldest data. v2 to v6 did not run.");
    assert_eq!(ran(&run)[2], "v6 ran last: the newest data. v1 to v5 did not run.");
    let removed = run.lanes[2].jobs.iter().filter(|job| job.end.as_ref().unwrap().how == LaneEnding::Removed);
    assert_eq!(removed.count(), 5);
}

#[test]
fn latest_settings_win_with_replace_and_get_lost_with_a_plain_key() {
    let run = played("latest-settings-win");
    let wanted = [
        ("plain key", [1, 1, 3, 0, 0], Some(1)),
        ("replace", [4, 2, 0, 2, 0], Some(4)),
        ("keep last if active", [2, 2, 3, 0, 0], Some(4)),
    ];
    assert_eq!(outcome(&run), wanted);
    let words = [
        "v1 ran last: the oldest data. v2 to v4 did not run.",
        "v4 ran last: the newest data. v2 and v3 did not run.",
        "v4 ran last: the newest data. v2 and v3 did not run.",
    ];
    assert_eq!(ran(&run), words);
    let follower = run.lanes[2].adds.last().unwrap();
    assert!(follower.follows && follower.why.starts_with("The kept data becomes a job."), "{follower:?}");
}

#[test]
fn a_dead_worker_is_waited_for_and_a_short_window_lets_a_twin_in() {
    let run = played("worker-dies");
    let wanted = [
        ("plain key", [1, 2, 2, 0, 0], Some(1)),
        ("key, TTL 3 s", [2, 3, 1, 0, 0], Some(1)),
        ("replace", [3, 4, 0, 0, 0], Some(1)),
    ];
    assert_eq!(outcome(&run), wanted);
    // The lease ends at 4.3 s; the broker looks every 5 s.
    let spans = &run.lanes[0].jobs[0].spans;
    assert_eq!((spans[0].worker_gone, spans[0].to), (Some(1_000), Some(5_000)));
    assert_eq!((spans[1].state, spans[1].from, spans[1].to), (JobState::Active, 5_000, Some(6_500)));
    assert_eq!(run.lanes[1].adds[2].decision, Decision::CreatedTwin);
    assert!(run.lines.iter().any(|line| line.text.contains("is gone without a word. Its lease ends in 3.3 s.")));
}

#[test]
fn the_same_id_in_two_queues_is_one_job_but_two_keys() {
    let run = played("two-queues");
    let wanted = [("job ID", [1, 1, 1, 0, 0], Some(1)), ("plain key", [2, 2, 0, 0, 0], Some(2))];
    assert_eq!(outcome(&run), wanted);
    assert_eq!(run.lanes[0].adds[1].decision, Decision::ExistingElsewhere);
    let queues: Vec<_> = run.lanes[1].keys.iter().map(|key| &*key.queue).collect();
    assert_eq!(queues, ["emails", "notifications"]);
}

#[test]
fn a_retry_after_a_lost_reply_runs_once_with_a_window() {
    let run = played("lost-reply");
    let wanted = [
        ("no id", [3, 3, 0, 0, 0], Some(1)),
        ("job ID", [2, 2, 1, 0, 0], Some(1)),
        ("key, TTL 10 s", [1, 1, 2, 0, 0], Some(1)),
    ];
    assert_eq!(outcome(&run), wanted);
    assert_eq!(ran(&run), ["v1 ran 3 times.", "v1 ran twice.", "v1 ran once."]);
    assert!(run.lines.iter().any(|line| line.lane.is_none() && line.text.contains("the reply is lost")));
}

#[test]
fn spans_of_a_job_touch_and_end_with_it() {
    for scenario in shipped().iter().filter(|scenario| scenario.is_scripted()) {
        for job in played(&scenario.id).lanes.iter().flat_map(|lane| &lane.jobs) {
            let touch = job.spans.windows(2).all(|pair| pair[0].to == Some(pair[1].from));
            assert!(touch && !job.spans.is_empty(), "{}: {job:?}", scenario.id);
            assert_eq!(job.spans.last().unwrap().to, job.end.as_ref().map(|end| end.t), "{}: {job:?}", scenario.id);
        }
    }
}

#[test]
fn every_shipped_scenario_has_three_lines_and_a_name_of_its_own() {
    let all = shipped();
    let mut ids: Vec<_> = all.iter().map(|scenario| &scenario.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 8);
    let (custom, scripted) = all.split_last().unwrap();
    assert!(scripted.iter().all(|scenario| scenario.text.len() == 3 && scenario.is_scripted()));
    assert!(custom.id == "custom" && !custom.is_scripted());
}

#[test]
fn a_scenario_survives_its_file() {
    for scenario in shipped() {
        assert_eq!(parse(&serde_json::to_string_pretty(&scenario).unwrap()), Ok(scenario));
    }
}

#[test]
fn a_mistake_in_a_file_is_named() {
    let good = serde_json::to_value(named("double-click")).unwrap();
    let refusals = [
        ("/title", "\"\"", "title: must not be empty"),
        ("/queue", "\"a b\"", "queue: Queue name contains invalid characters"),
        ("/lanes", "[]", "lanes: must be 1 to 3"),
        ("/lanes/0", r#"{"strategy": "extend"}"#, "lanes[0].ttlMs: this strategy needs one"),
        ("/lanes/1", r#"{"strategy": "jobId", "ttlMs": 5}"#, "lanes[1].ttlMs: a lane without a key has no window"),
        ("/lanes/1", r#"{"strategy": "ttl", "ttlMs": 3600001}"#, "lanes[1].ttlMs: must be 0 to 3600000"),
        ("/lanes/0", r#"{"strategy": "magic"}"#, "unknown variant `magic`"),
        ("/lanes/0", r#"{"strategy": "plain", "tll": 5}"#, "unknown field `tll`"),
        ("/worker/durationMs", "1", "worker.durationMs: must be 10 to 600000"),
        ("/worker/leaseMs", "-4", "invalid value: integer `-4`"),
        ("/script/1/atMs", "1", "script[1].atMs: must not be before the step above it"),
        ("/script/1/atMs", "9999", "script[1].atMs: must not be after lengthMs, 3500"),
        ("/script/0/act", r#"{"do": "add", "v": 0}"#, "script[0].act.v: must be 1 to 4294967295"),
        ("/script/0/act", r#"{"do": "work", "what": "kill", "lane": 2}"#, "script[0].act.lane: must be 0 to 1"),
        ("/lengthMs", "600001", "lengthMs: must be 0 to 600000"),
    ];
    for (place, value, wanted) in refusals {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap() = serde_json::from_str(value).unwrap();
        let text = parse(&bad.to_string()).unwrap_err();
        assert!(text.contains(wanted), "{place} = {value}: {text}");
    }
    assert!(parse("{").unwrap_err().starts_with("Not a scenario: EOF"));
    assert!(parse("[]").unwrap_err().starts_with("Not a scenario: "));
}

#[test]
fn which_data_ran_is_said_in_words() {
    let cases: [(&[u32], &[u32], &str); 8] = [
        (&[], &[], "Nothing was added yet."),
        (&[1, 2], &[], "Nothing has run yet."),
        (&[1, 1], &[1], "v1 ran once."),
        (&[1], &[1, 1], "v1 ran twice."),
        (&[1, 2, 3], &[1, 2, 3], "v3 ran last: the newest data."),
        (&[1, 2, 3, 4], &[1, 3], "v3 ran last: neither the oldest nor the newest data. v2 and v4 did not run."),
        (&[1, 2, 3, 4], &[1], "v1 ran last: the oldest data. v2 to v4 did not run."),
        (&[1, 2, 4, 5, 6, 8], &[8], "v8 ran last: the newest data. v1, v2 and v4 to v6 did not run."),
    ];
    for (added, runs, wanted) in cases {
        assert_eq!(super::title::ran(added, runs), wanted);
    }
}
