//! Schedules in the words of the window, and what it does with them.

use super::*;
use crate::testing::Bench;
use onceover_engine::calendar::{Pattern, Zone};
use onceover_engine::command::{NewJob, RareOptions};
use onceover_engine::schedule::{Rule, Save};
use serde_json::{Value, json};

fn save(bench: &Bench, name: &str, timing: Timing, timezone: Option<&str>, key: Option<&str>) {
    let rare = RareOptions { schedule: Some(name.into()), ..RareOptions::default() };
    let rule = Rule {
        name: name.into(),
        timing,
        also_every: None,
        timezone: timezone.map(Arc::from),
        limit: Some(7),
        skip_missed_on_restart: true,
        skip_if_no_worker: false,
        spec: Arc::new(NewJob { rare: Some(Box::new(rare)), ..NewJob::new("reports", "j") }),
        dedup_key: key.map(Arc::from),
    };
    let save = Save { rule: Arc::new(rule), data: None, immediately: false, takes_back: false };
    let request = Command::Schedule(Request::Save(Box::new(save)));
    bench.wait(bench.broker.as_ref().unwrap().handle().act(request)).unwrap();
}

fn list(bench: &Bench, filter: &str) -> Value {
    bench.ask(json!({ "type": "schedules", "filter": filter, "limit": 200 }))
}

#[test]
fn intervals_in_their_largest_whole_unit() {
    let cases = [(86_400_000, "1 d"), (5_400_000, "90 min"), (30_000, "30 s"), (1_500, "1500 ms"), (7_200_000, "2 h")];
    for (millis, text) in cases {
        assert_eq!(span(Millis(millis)), text);
    }
}

#[test]
fn a_schedule_is_listed_run_and_deleted() {
    let bench = Bench::new("schedules");
    assert_eq!((&list(&bench, "")["all"], &list(&bench, "")["rows"]), (&json!(0), &json!([])));
    let zone = Zone::parse("Asia/Tokyo").unwrap();
    let nightly = Timing::Calendar(Pattern::parse("0 8 * * mon", Some(zone)).unwrap());
    save(&bench, "nightly", nightly, Some("Asia/Tokyo"), Some("cron:nightly"));
    save(&bench, "own zone", Timing::Calendar(Pattern::parse("@daily", None).unwrap()), None, None);
    save(&bench, "tick", Timing::Every(Millis(90_000)), None, None);
    let all = list(&bench, "");
    let words: Vec<&Value> = all["rows"].as_array().unwrap().iter().map(|row| &row["words"]).collect();
    assert_eq!(words, ["At 08:00, on Monday", "At 00:00", "Every 90 s"]);
    assert_eq!((&all["rows"][0]["zone"], &all["rows"][0]["ownZone"]), (&json!("Asia/Tokyo"), &json!(false)));
    assert_eq!((&all["rows"][1]["ownZone"], &all["rows"][2]["zone"]), (&json!(true), &json!("")));
    let found = list(&bench, "NIGHT");
    assert_eq!((&found["all"], &found["total"], &found["rows"][0]["name"]), (&json!(3), &json!(1), &json!("nightly")));
    assert_eq!(list(&bench, "report")["total"], 3, "by queue");
    assert_eq!((&found["rows"][0]["executions"], &found["rows"][0]["limit"]), (&json!(0), &json!(7)));

    let act = |act: &str| bench.ask(json!({ "type": "actOnSchedule", "name": "nightly", "act": act }));
    let ran = act("run");
    assert_eq!((&ran["ok"], &ran["message"]), (&json!(true), &json!("`nightly` ran: its job is in `reports`.")));
    assert_eq!(act("run")["message"], "`nightly` ran: a job of it is there already, so no other was made.");
    let row = list(&bench, "nightly")["rows"][0].clone();
    assert_eq!((&row["last"], &row["executions"]), (&json!("collapsed"), &json!(0)), "runs by hand do not count");
    assert!(row["lastJob"].is_string() && row["nextRun"] == found["rows"][0]["nextRun"], "{row}");
    assert_eq!(act("delete")["message"], "Deleted the schedule `nightly`. Jobs that it made stay.");
    assert_eq!(act("run")["message"], "There is no schedule `nightly` any more.");
    assert_eq!((&list(&bench, "")["all"], &act("delete")["ok"]), (&json!(2), &json!(false)));
}

#[test]
fn pages_go_through_all_in_each_order_and_none_comes_twice() {
    let bench = Bench::new("schedule-pages");
    for at in 0..450 {
        save(&bench, &format!("s{at:03}"), Timing::Every(Millis(1_000_000 - 1_000 * (at / 2))), None, None);
    }
    let through = |sort: &str, reverse: bool| {
        let (mut names, mut after, mut pages) = (Vec::new(), Value::Null, 0);
        loop {
            let page = bench.ask(json!({ "type": "schedules", "filter": "", "sort": sort, "reverse": reverse, "after": after, "limit": 200 }));
            names.extend(page["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()));
            pages += 1;
            assert_eq!((&page["total"], &page["all"]), (&json!(450), &json!(450)));
            after = page["next"].clone();
            if after.is_null() {
                return (names, pages);
            }
        }
    };
    let (by_name, pages) = through("name", false);
    assert_eq!((by_name.len(), pages, by_name.is_sorted()), (450, 3, true));
    let (soonest, _) = through("next", false);
    assert_eq!((soonest[0].as_str(), soonest.len()), ("s448", 450));
    for sort in ["name", "queue", "next", "executions"] {
        let (mut there, back) = (through(sort, false).0, through(sort, true).0);
        there.reverse();
        assert_eq!(there, back, "{sort}");
    }
    bench.refused(json!({ "type": "schedules", "after": "x" }));
}
