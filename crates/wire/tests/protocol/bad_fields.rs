//! Every command and every field of it that can be wrong: an answer that names the field, and nothing has changed.

use crate::bench::{Bench, merged};
use onceover_wire::decode::command_names;
use serde_json::{Value as Json, json};

/// What a field must be.
#[derive(Clone, Copy)]
pub enum Must {
    /// The name of a queue.
    Queue,
    /// An identifier that must be there.
    Id(&'static str),
    /// An identifier that may be missing.
    MaybeId(&'static str),
    /// A number within bounds.
    Number(&'static str, i64, i64),
    /// An integer within bounds.
    Integer(&'static str, i64, i64),
    /// An integer that counts something, with the words of the group commands.
    Positive(&'static str),
    /// A number above 0, parts of one included.
    Time(&'static str),
    /// The limit of a queue: a number, also one written as text.
    Limit,
    /// The id of a group.
    GroupId,
    /// Any number.
    AnyNumber(&'static str),
    /// A field that must be there, whatever it is.
    There(&'static str),
    /// A text.
    Text(&'static str),
    /// A list of identifiers or texts.
    Texts(&'static str),
    /// Any list.
    List(&'static str),
    /// True or false.
    Flag(&'static str),
    /// A map.
    Object(&'static str),
    /// A map whose members must be something themselves.
    Members(&'static str, &'static [Must]),
    /// Any value: none is wrong.
    Any(&'static str),
}

use Must::{
    Any, AnyNumber, Flag, GroupId, Id, Integer, Limit, List, MaybeId, Members, Number, Object, Positive, Queue, Text,
    Texts, There, Time,
};

const YEAR: i64 = 31_536_000_000;
const SAFE: i64 = 9_007_199_254_740_991;

/// Numbers may be texts; what is no number changes nothing.
const STALL_CONFIG: &[Must] = &[Any("enabled"), Any("stallInterval"), Any("maxStalls"), Any("gracePeriod")];
/// Which dead letters.
const FILTER: &[Must] = &[
    Text("reason"),
    AnyNumber("olderThan"),
    AnyNumber("newerThan"),
    AnyNumber("offset"),
    AnyNumber("limit"),
    Any("retriable"),
    Any("expired"),
];
/// What becomes of dead letters. Numbers that are too small are taken for the least.
const DLQ_CONFIG: &[Must] = &[
    Flag("autoRetry"),
    AnyNumber("autoRetryInterval"),
    AnyNumber("maxAutoRetries"),
    AnyNumber("maxAge"),
    AnyNumber("maxEntries"),
];

/// Each command with a request that is right, and its fields. `docs/commands.md` is made of it.
pub fn table() -> Vec<(Json, Vec<Must>)> {
    let mut table = work();
    table.extend(of_one_job());
    table.extend(of_queues());
    table.extend(of_limits());
    table.extend(of_schedules());
    // Metrics without a queue are the broker's; a token of a wrong type is a wrong token.
    let bare =
        ["Auth", "CronList", "Hello", "ListQueues", "ListWorkers", "Metrics", "Ping", "Stats", "UnsubscribeEvents"];
    table.extend(bare.map(|cmd| (json!({"cmd": cmd}), vec![])));
    let bare = ["CompactMemory", "DashboardOverview", "DashboardQueues", "Prometheus", "StorageStatus"];
    table.extend(bare.map(|cmd| (json!({"cmd": cmd}), vec![])));
    table.push((json!({"cmd": "DashboardQueue", "queue": "q"}), vec![Queue, AnyNumber("jobsLimit")]));
    let hook = json!({"cmd": "AddWebhook", "url": "http://h/", "events": ["job.pushed"]});
    table.push((hook, vec![Text("url"), There("events"), Texts("events"), Text("queue"), Text("secret")]));
    table.push((json!({"cmd": "RemoveWebhook", "webhookId": "w"}), vec![Id("webhookId")]));
    table.push((json!({"cmd": "SetWebhookEnabled", "id": "w", "enabled": true}), vec![Id("id"), There("enabled")]));
    table.push((json!({"cmd": "ListWebhooks"}), vec![]));
    // What is wrong with its length is told in one sentence for all, which is tested where it is decoded.
    table.push((json!({"cmd": "TrimEvents", "queue": "q", "maxLength": 1}), vec![Queue]));
    table
}

/// Questions about one job, and its changes.
fn of_one_job() -> Vec<(Json, Vec<Must>)> {
    let of_job = |cmd: &str, more: &[Must]| (json!({"cmd": cmd, "id": "a"}), [&[Id("id")], more].concat());
    let with = |(request, fields): (Json, Vec<Must>), more: Json| (merged(request, more), fields);
    let delay = [Text("token"), There("delay"), Number("delay", 0, YEAR)];
    let priority = [There("priority"), Integer("priority", -1_000_000, 1_000_000)];
    let message = [There("message"), Text("message"), Text("level")];
    vec![
        with(of_job("AddLog", &message), json!({"message": "m"})),
        with(of_job("ChangeDelay", &delay), json!({"delay": 1})),
        with(of_job("MoveToDelayed", &delay), json!({"delay": 1})),
        with(of_job("ChangePriority", &priority), json!({"priority": 1})),
        with(of_job("Progress", &[Number("progress", i64::MIN, i64::MAX), Text("message")]), json!({"progress": 1})),
        of_job("ClearLogs", &[AnyNumber("keepLogs")]),
        of_job("GetLogs", &[AnyNumber("start"), Number("end", i64::MIN, i64::MAX)]),
        of_job("WaitJob", &[Number("timeout", 0, 600_000)]),
        of_job("Discard", &[Text("token")]),
        of_job("MoveToWait", &[Text("token")]),
        of_job("MoveToWaitingChildren", &[Text("token")]),
        of_job("Cancel", &[]),
        of_job("GetJob", &[]),
        of_job("GetProgress", &[]),
        of_job("GetResult", &[]),
        of_job("GetState", &[]),
        of_job("Promote", &[]),
        of_job("RemoveJobDeduplicationKey", &[]),
        of_job("Update", &[]),
        of_job("GetChildrenValues", &[]),
        of_job("GetFailedChildrenValues", &[]),
        of_job("GetIgnoredChildrenFailures", &[]),
        of_job("RemoveChildDependency", &[]),
        of_job("RemoveUnprocessedChildren", &[]),
        // Its many fields are tried in `flows.rs`.
        (json!({"cmd": "PUSHF", "jobs": []}), vec![]),
        (json!({"cmd": "UpdateParent", "childId": "a", "parentId": "b"}), vec![Id("childId"), Id("parentId")]),
        (json!({"cmd": "GetJobByCustomId", "customId": "a"}), vec![Id("customId")]),
    ]
}

/// Whole queues, their finished jobs and their keys.
fn of_queues() -> Vec<(Json, Vec<Must>)> {
    let of_queue = |cmd: &str, more: &[Must]| (json!({"cmd": cmd, "queue": "q"}), [&[Queue], more].concat());
    let with = |(request, fields): (Json, Vec<Must>), more: Json| (merged(request, more), fields);
    let age = [There("grace"), Number("grace", 0, SAFE), AnyNumber("limit"), Text("state")];
    let mut table = vec![
        with(of_queue("Clean", &age), json!({"grace": 0})),
        with(of_queue("GetDeduplicationJobId", &[There("deduplicationId")]), json!({"deduplicationId": "k"})),
        with(of_queue("RemoveDeduplicationKey", &[There("deduplicationId")]), json!({"deduplicationId": "k"})),
        with(of_queue("RemoveDlqJob", &[Id("jobId")]), json!({"jobId": "a"})),
        of_queue("Dlq", &[AnyNumber("count"), Object("filter"), Members("filter", FILTER)]),
        of_queue("GetJobs", &[AnyNumber("offset"), AnyNumber("limit")]),
        of_queue("PromoteJobs", &[AnyNumber("count")]),
        of_queue("RetryCompleted", &[MaybeId("id"), AnyNumber("count"), AnyNumber("timestamp")]),
        of_queue("RetryDlq", &[MaybeId("jobId"), AnyNumber("count"), Object("filter"), Members("filter", FILTER)]),
        with(
            of_queue("SetDlqConfig", &[There("config"), Object("config"), Members("config", DLQ_CONFIG)]),
            json!({"config": {}}),
        ),
        of_queue("SetStallConfig", &[Object("config"), Members("config", STALL_CONFIG)]),
        of_queue("SubscribeEvents", &[]),
        (json!({"cmd": "ListDeduplicationKeys"}), vec![Text("queue"), AnyNumber("offset"), AnyNumber("limit")]),
    ];
    let plain = ["Count", "Drain", "GetCountsPerPriority", "GetJobCounts", "IsPaused"];
    table.extend(plain.map(|cmd| of_queue(cmd, &[])));
    table.extend(["GetDlqConfig", "GetDlqStats", "GetStallConfig"].map(|cmd| of_queue(cmd, &[])));
    table.extend(["Obliterate", "Pause", "PurgeDlq", "Resume"].map(|cmd| of_queue(cmd, &[])));
    table
}

/// Rates, concurrency, groups.
fn of_limits() -> Vec<(Json, Vec<Must>)> {
    let limit = |cmd: &str, more: &[Must]| (json!({"cmd": cmd, "queue": "q", "limit": 5}), [&[Queue], more].concat());
    let group = |cmd: &str, more: &[Must]| {
        let request = json!({"cmd": cmd, "queue": "q", "groupId": "g", "max": 1, "duration": 5, "concurrency": 1});
        (request, [&[Queue, GroupId], more].concat())
    };
    let mut table = vec![
        limit("RateLimit", &[Limit, Time("duration"), Time("ttl")]),
        limit("SetConcurrency", &[Limit]),
        limit("RateLimitClear", &[]),
        limit("ClearConcurrency", &[]),
        limit("GetQueueLimits", &[Integer("maxJobs", 0, SAFE)]),
        limit("GetGroupsJobsCount", &[]),
        group("SetGroupRateLimit", &[Positive("max"), Positive("duration")]),
        group("SetGroupConcurrency", &[Positive("concurrency")]),
        group("RateLimitGroup", &[Positive("duration")]),
        group("GetGroupRateLimitTtl", &[]),
    ];
    let plain = ["GetGroupJobsCount", "GetGroupActiveCount", "GetGroupRateLimit", "RemoveGroupRateLimit"];
    table.extend(plain.map(|cmd| group(cmd, &[])));
    let plain = ["GetGroupConcurrency", "RemoveGroupConcurrency", "PauseGroup", "ResumeGroup", "IsGroupPaused"];
    table.extend(plain.map(|cmd| group(cmd, &[])));
    table
}

/// Schedules; their own texts are in `schedules`.
fn of_schedules() -> Vec<(Json, Vec<Must>)> {
    let fields = vec![
        Queue,
        Id("name"),
        MaybeId("uniqueKey"),
        Text("schedule"),
        Text("timezone"),
        Integer("maxLimit", -SAFE, SAFE),
        Integer("priority", -1_000_000, 1_000_000),
        Object("dedup"),
        Object("jobOptions"),
        Flag("immediately"),
        Flag("skipMissedOnRestart"),
        Flag("skipIfNoWorker"),
        Flag("preventOverlap"),
    ];
    let named = ["CronDelete", "CronGet"].map(|cmd| (json!({"cmd": cmd, "name": "s"}), vec![Id("name")]));
    [vec![(json!({"cmd": "Cron", "name": "s", "queue": "q", "repeatEvery": 5}), fields)], named.to_vec()].concat()
}

/// Adding, taking, finishing, keeping alive, registering.
fn work() -> Vec<(Json, Vec<Must>)> {
    let add = vec![
        Queue,
        MaybeId("jobId"),
        MaybeId("uniqueKey"),
        Integer("priority", -1_000_000, 1_000_000),
        Number("delay", 0, YEAR),
        Integer("maxAttempts", 1, 1_000),
        Number("timeout", 0, 86_400_000),
        Number("ttl", 0, YEAR),
        Number("backoff", 0, 86_400_000),
        Number("stallTimeout", 0, SAFE),
        Number("stackTraceLimit", 0, SAFE),
        AnyNumber("keepLogs"),
        AnyNumber("sizeLimit"),
        AnyNumber("debounceTtl"),
        AnyNumber("timestamp"),
        MaybeId("debounceId"),
        MaybeId("parentId"),
        Texts("dependsOn"),
        Texts("childrenIds"),
        Texts("tags"),
        Object("dedup"),
        Object("repeat"),
        Text("groupId"),
    ];
    let take = || vec![Queue, Number("timeout", 0, 60_000), Text("owner"), Number("lockTtl", 0, SAFE), Object("group")];
    let mut take_many = take();
    take_many.extend([There("count"), Number("count", 1, 1_000)]);
    let renew = || vec![Id("id"), Text("token"), Number("duration", 0, SAFE)];
    let ids = |more: &[Must]| [&[There("ids"), Texts("ids"), Texts("tokens")][..], more].concat();
    let counted = |name| Number(name, 0, SAFE);
    vec![
        (json!({"cmd": "PUSH", "queue": "q"}), add),
        (json!({"cmd": "PUSHB", "queue": "q", "jobs": []}), vec![Queue, There("jobs"), List("jobs")]),
        (json!({"cmd": "PULL", "queue": "q"}), take()),
        (json!({"cmd": "PULLB", "queue": "q", "count": 1}), take_many),
        (json!({"cmd": "ACK", "id": "a"}), vec![Id("id"), Text("token")]),
        (json!({"cmd": "ACKB", "ids": ["a"]}), ids(&[List("results"), List("removeOnCompletes")])),
        (json!({"cmd": "FAIL", "id": "a"}), vec![Id("id"), Text("token")]),
        (json!({"cmd": "JobHeartbeat", "id": "a"}), renew()),
        (json!({"cmd": "ExtendLock", "id": "a"}), renew()),
        (json!({"cmd": "JobHeartbeatB", "ids": ["a"]}), ids(&[])),
        (json!({"cmd": "ExtendLocks", "ids": ["a"]}), ids(&[List("durations")])),
        (
            json!({"cmd": "RegisterWorker", "name": "w"}),
            vec![
                MaybeId("workerId"),
                Text("name"),
                Texts("queues"),
                counted("concurrency"),
                Text("hostname"),
                counted("pid"),
            ],
        ),
        (
            json!({"cmd": "Heartbeat", "id": "a"}),
            vec![Id("id"), counted("activeJobs"), counted("processed"), counted("failed")],
        ),
        (json!({"cmd": "UnregisterWorker", "workerId": "a"}), vec![Id("workerId")]),
    ]
}

/// Wrong values of a field and what each is answered with.
fn wrong(must: Must) -> Vec<(&'static str, Json, String)> {
    let undefined = || json!({"$undefined": true});
    let say = |name: &str, what: &str| format!("{name} must be {what}");
    let number = |name: &'static str| {
        vec![
            (name, json!("5"), say(name, "a number")),
            (name, json!(true), say(name, "a number")),
            (name, json!([]), say(name, "a number")),
        ]
    };
    let between = |name: &'static str, min: i64, max: i64| {
        let mut all = number(name);
        all.push((name, json!({"$nan": true}), say(name, "a finite number")));
        if min > i64::MIN {
            all.push((name, json!(min - 1), say(name, &format!("at least {min}"))));
            all.push((name, json!(max as f64 * 2.0), say(name, &format!("at most {max}"))));
        }
        all
    };
    let of_types = |name: &'static str, values: &[Json], what: &str| -> Vec<_> {
        values.iter().map(|value| (name, value.clone(), say(name, what))).collect()
    };
    match must {
        Queue => vec![
            ("queue", undefined(), "Queue name is required".to_owned()),
            ("queue", json!(null), "Queue name is required".to_owned()),
            ("queue", json!(""), "Queue name is required".to_owned()),
            ("queue", json!(5), "queue must be a string".to_owned()),
            ("queue", json!("a b"), "Queue name contains invalid characters".to_owned()),
            ("queue", json!("q".repeat(257)), "Queue name too long (max 256 characters)".to_owned()),
        ],
        Id(name) => {
            let missing =
                [undefined(), json!(null), json!("")].map(|value| (name, value, format!("{name} is required")));
            [missing.to_vec(), wrong(MaybeId(name))].concat()
        }
        MaybeId(name) => of_types(name, &[json!(true), json!(1.5), json!([]), json!({})], "a string"),
        Number(name, min, max) => between(name, min, max),
        Integer(name, min, max) => {
            [between(name, min, max), vec![(name, json!(1.5), say(name, "an integer"))]].concat()
        }
        Positive(_) | Time(_) | Limit | GroupId => wrong_of_limits(must),
        AnyNumber(name) => number(name),
        There(name) => {
            vec![(name, undefined(), format!("{name} is required")), (name, json!(null), format!("{name} is required"))]
        }
        Text(name) => of_types(name, &[json!(5), json!(true), json!([]), json!({})], "a string"),
        Texts(name) => {
            [wrong(List(name)), of_types(name, &[json!([true]), json!([{}]), json!([1.5])], "an array of strings")]
                .concat()
        }
        List(name) => of_types(name, &[json!(5), json!("a"), json!({})], "an array"),
        Flag(name) => of_types(name, &[json!(1), json!("true"), json!([]), json!({})], "a boolean"),
        Members(name, members) => members
            .iter()
            .flat_map(|must| wrong(*must))
            .map(|(member, value, text)| (name, json!({member: value}), format!("{name}.{text}")))
            .collect(),
        Any(_) => vec![],
        Object(name) => of_types(name, &[json!(5), json!("a"), json!([])], "an object"),
    }
}

/// The same for the fields of limits and groups.
fn wrong_of_limits(must: Must) -> Vec<(&'static str, Json, String)> {
    let undefined = || json!({"$undefined": true});
    let say = |name: &str, what: &str| format!("{name} must be {what}");
    let of_types = |name: &'static str, values: &[Json], what: &str| -> Vec<_> {
        values.iter().map(|value| (name, value.clone(), say(name, what))).collect()
    };
    match must {
        Positive(name) => {
            let values = [undefined(), json!(null), json!("5"), json!(0), json!(-1), json!(1.5), json!(1e16)];
            of_types(name, &values, "a positive safe integer")
        }
        Time(name) => {
            let mut all = wrong(Number(name, 0, SAFE));
            all.push((name, json!(0), say(name, "above 0")));
            all
        }
        Limit => {
            let values = [undefined(), json!(null), json!("many"), json!({"$nan": true}), json!([])];
            let mut all = of_types("limit", &values, "a finite number");
            all.push(("limit", json!(1e16), say("limit", &format!("at most {SAFE}"))));
            all
        }
        GroupId => vec![
            ("groupId", undefined(), "groupId is required".to_owned()),
            ("groupId", json!(null), "groupId is required".to_owned()),
            ("groupId", json!(5), say("groupId", "a string")),
            ("groupId", json!(""), say("groupId", "a non-empty string")),
            ("groupId", json!("g".repeat(257)), say("groupId", "at most 256 characters")),
            ("groupId", json!("a\0b"), "groupId must not contain NUL characters".to_owned()),
        ],
        _ => unreachable!("the other fields are not of limits"),
    }
}

#[test]
fn every_command_names_the_field_that_is_wrong() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "uniqueKey": "k", "maxAttempts": 1}));
    let before = bench.job("a");
    let mut tried = 0;
    for (request, fields) in table() {
        for (name, value, text) in fields.into_iter().flat_map(wrong) {
            let request = merged(request.clone(), json!({name: value}));
            assert_eq!(bench.refusal(&request), text, "{request}");
            tried += 1;
        }
    }
    assert_eq!((bench.job("a"), bench.counts()["waiting"].clone()), (before, json!(1)), "nothing has changed");
    assert!(tried > 600, "{tried}");
}

#[test]
fn the_table_has_every_command() {
    let table = table();
    for name in command_names() {
        assert!(table.iter().any(|(request, _)| request["cmd"] == name), "{name} is not in the table");
    }
}

#[test]
fn lists_beside_the_ids_have_their_length() {
    let mut bench = Bench::new();
    for name in ["tokens", "results", "removeOnCompletes"] {
        let request = json!({"cmd": "ACKB", "ids": ["a"], name: ["x", "y"]});
        assert_eq!(bench.refusal(&request), format!("ACKB {name} length must match ids length"));
    }
    let request = json!({"cmd": "ExtendLocks", "ids": ["a"], "tokens": ["t"], "durations": ["5"]});
    assert_eq!(bench.refusal(&request), "durations must be an array of numbers");
}

#[test]
fn what_is_not_there_yet_is_refused_by_name_and_changes_nothing() {
    let mut bench = Bench::new();
    let cases = [(
        json!({"cmd": "PUSH", "queue": "q", "repeat": {"every": 5, "offset": true}}),
        "repeat.offset must be a finite number",
    )];
    for (request, text) in cases {
        assert_eq!(bench.refusal(&request), text, "{request}");
    }
    assert_eq!(bench.ok(&json!({"cmd": "ListQueues"}))["queues"], json!([]));
}
