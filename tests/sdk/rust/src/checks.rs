//! The checks, in the order in which they run. Each panics with what it saw when it saw something else than is promised.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::sleep;
use std::time::Duration;

use bunqueue_client::{BulkEntry, ChainStep, FlowJob, FlowProducer, JobOptions, ProcessError, Value};

use crate::kit::{Working, broker, data_of, fresh, keyed, number, number_of, queue, until};

type Check = (&'static str, fn());

/// Every check with its name.
pub const ALL: &[Check] = &[
    ("the same job id twice gives the same job", job_id_twice),
    ("deduplication with a ttl: one job in the window, the next one after it", window),
    ("a key with a ttl stays to the end of its window although its job completed", window_outlives_completion),
    ("a key without a ttl is held until its job ends", key_without_ttl),
    ("extend keeps the pending job and starts its window anew", extend),
    ("replace removes the pending job and queues a new one with the new data", replace),
    ("while the owner runs, extend is refused and replace queues a successor", busy_owner),
    ("a key can be looked up and removed; its job stays", look_up_and_remove),
    ("add_bulk answers one id for each entry, in order, duplicates included", add_bulk),
    ("progress and logs", progress_and_logs),
    ("a flow runs leaf first, and its parent reads what the children returned", flow),
    ("a parent fails with its child, or runs without it", flow_failures),
];

const MINUTE: Option<i64> = Some(60_000);

fn pause(ms: u64) {
    sleep(Duration::from_millis(ms));
}

fn owner(queue: &str, key: &str) -> Option<String> {
    let command = [("cmd", "GetDeduplicationJobId"), ("queue", queue), ("deduplicationId", key)];
    data_of(&command, "jobId").as_str().map(str::to_owned)
}

fn with_id(id: &str) -> JobOptions {
    JobOptions { job_id: Some(id.into()), ..Default::default() }
}

fn job_id_twice() {
    let (queue, _) = queue();
    let id = fresh("order");
    let first = queue.add("charge", number(1), with_id(&id)).unwrap();
    let second = queue.add("charge", number(2), with_id(&id)).unwrap();
    assert_eq!((first.id(), second.id()), (id.clone(), id.clone()));
    assert_eq!(queue.count().unwrap(), 1);
    assert_eq!(number_of(&queue.get_job(&id).unwrap().unwrap()), 1);
    assert_eq!(queue.get_job_by_custom_id(&id).unwrap().unwrap().id(), id);
}

fn window() {
    let (queue, _) = queue();
    let add = |n| queue.add("save", number(n), keyed("user-42", Some(700), false, false)).unwrap().id();
    let first = add(1);
    assert_eq!(add(2), first);
    assert_eq!(queue.count().unwrap(), 1);
    pause(900);
    assert_ne!(add(3), first);
    assert_eq!(queue.count().unwrap(), 2);
}

fn window_outlives_completion() {
    let (queue, name) = queue();
    let add = || queue.add("send", number(1), keyed("digest", MINUTE, false, false)).unwrap().id();
    let first = add();
    let working = Working::start(&name, |_| Ok(Value::from("sent")));
    assert_eq!(queue.wait_for_job(&first, 5000).unwrap(), Value::from("sent"));
    drop(working);
    assert_eq!(add(), first);
    assert_eq!(queue.count().unwrap(), 0);
}

fn key_without_ttl() {
    let (queue, name) = queue();
    let add = || queue.add("build", number(1), keyed("report", None, false, false)).unwrap().id();
    let first = add();
    assert_eq!(add(), first);
    let working = Working::start(&name, |_| Ok(Value::Nil));
    queue.wait_for_job(&first, 5000).unwrap();
    drop(working);
    assert_ne!(add(), first);
}

fn extend() {
    let (queue, _) = queue();
    let add = |n| queue.add("index", number(n), keyed("index", Some(900), true, false)).unwrap().id();
    let first = add(1);
    for n in [2, 3] {
        pause(600);
        assert_eq!(add(n), first);
    }
    assert_eq!(number_of(&queue.get_job(&first).unwrap().unwrap()), 1);
    pause(1100);
    assert_ne!(add(4), first);
}

fn replace() {
    let (queue, name) = queue();
    let add = |n| queue.add("save", number(n), keyed("settings", MINUTE, false, true)).unwrap().id();
    let (first, second) = (add(1), add(2));
    assert_ne!(first, second);
    assert!(queue.get_job(&first).unwrap().is_none());
    assert_eq!(number_of(&queue.get_job(&second).unwrap().unwrap()), 2);
    assert_eq!(queue.count().unwrap(), 1);
    assert_eq!(owner(&name, "settings"), Some(second));
}

fn busy_owner() {
    let (queue, name) = queue();
    // 0: the job was not pulled, 1: it runs, 2: it may end.
    let stage = Arc::new((Mutex::new(0), Condvar::new()));
    let first = queue.add("sync", number(1), keyed("sync", MINUTE, false, false)).unwrap().id();
    let held = stage.clone();
    let working = Working::start(&name, move |job| {
        let mut now = held.0.lock().unwrap();
        *now = (*now).max(1);
        while *now < 2 {
            now = held.1.wait(now).unwrap();
        }
        Ok(Value::from(number_of(&job)))
    });
    until("the job is pulled", || *stage.0.lock().unwrap() == 1);
    let refusal = queue.add("sync", number(2), keyed("sync", MINUTE, true, false)).err().map(|error| error.to_string());
    let second = queue.add("sync", number(3), keyed("sync", MINUTE, false, true)).unwrap().id();
    let owner = owner(&name, "sync");
    *stage.0.lock().unwrap() = 2;
    stage.1.notify_all();
    assert!(
        refusal.as_deref().is_some_and(|text| text.contains("Duplicate unique_key (extended TTL)")),
        "refused with {refusal:?}"
    );
    assert_ne!(first, second);
    assert_eq!(owner, Some(second.clone()));
    assert_eq!(queue.wait_for_job(&first, 5000).unwrap(), Value::from(1));
    assert_eq!(queue.wait_for_job(&second, 5000).unwrap(), Value::from(3));
    drop(working);
}

fn look_up_and_remove() {
    let (queue, name) = queue();
    let add = || queue.add("run", number(1), keyed("stuck", MINUTE, false, false)).unwrap().id();
    let first = add();
    assert_eq!(owner(&name, "stuck"), Some(first.clone()));
    let removal = [("cmd", "RemoveDeduplicationKey"), ("queue", &*name), ("deduplicationId", "stuck")];
    assert_eq!(data_of(&removal, "count"), Value::from(1));
    assert_eq!(data_of(&removal, "count"), Value::from(0));
    assert_eq!(owner(&name, "stuck"), None);
    assert_eq!(queue.get_state(&first).unwrap(), "waiting");
    let second = add();
    assert_ne!(first, second);
    let removal = [("cmd", "RemoveJobDeduplicationKey"), ("id", &*second)];
    assert_eq!(data_of(&removal, "removed"), Value::from(true));
    assert_eq!(owner(&name, "stuck"), None);
}

fn add_bulk() {
    let (queue, _) = queue();
    let id = fresh("bulk");
    let key = || keyed("bulk", MINUTE, false, false);
    let options = [with_id(&id), key(), key(), with_id(&id), JobOptions::default()];
    let entries =
        options.into_iter().zip(1..).map(|(options, n)| BulkEntry { name: "b".into(), data: number(n), options });
    let ids = queue.add_bulk(entries.collect()).unwrap();
    assert_eq!(ids.len(), 5);
    assert_eq!((&ids[0], &ids[3]), (&id, &id));
    assert_eq!(ids[1], ids[2]);
    assert_ne!(ids[1], ids[4]);
    assert_eq!(queue.count().unwrap(), 3);
}

fn progress_and_logs() {
    let (queue, name) = queue();
    let id = queue.add("half", number(1), JobOptions::default()).unwrap().id();
    let working = Working::start(&name, |job| {
        let told = job.update_progress(50.0, Some("halfway")).and_then(|()| job.log("halfway", None));
        told.map(|()| Value::from("fine")).map_err(|error| ProcessError::unrecoverable(error.to_string()))
    });
    assert_eq!(queue.wait_for_job(&id, 5000).unwrap(), Value::from("fine"));
    drop(working);
    // The client's own reader expects texts where the protocol has maps, so the count is read raw.
    let logs = [("cmd", "GetLogs"), ("id", &*id)];
    assert_eq!(data_of(&logs, "count"), Value::from(1));
}

fn node(name: &str, queue: &str, options: JobOptions, children: Vec<FlowJob>) -> FlowJob {
    FlowJob { name: name.into(), queue_name: queue.into(), data: number(1), options, children }
}

fn values_of(id: &str) -> Vec<(Value, Value)> {
    let values = data_of(&[("cmd", "GetChildrenValues"), ("id", id)], "values");
    values.as_map().expect("values by name").clone()
}

fn flow() {
    let ((parents, above), (_, below)) = (queue(), queue());
    let producer = FlowProducer::new(broker());
    let gone = JobOptions { remove_on_complete: Some(true), ..Default::default() };
    let middle =
        node("middle", &below, JobOptions::default(), vec![node("leaf", &below, JobOptions::default(), vec![])]);
    let made =
        producer.add(node("root", &above, JobOptions::default(), vec![middle, node("other", &below, gone, vec![])]));
    let made = made.unwrap();
    let (root, children) = (made.job.id(), made.children.iter().map(|child| child.job.id()).collect::<Vec<_>>());
    assert_eq!(parents.get_state(&root).unwrap(), "waiting-children");
    let names = ["middle", "other"];
    let working = Working::start(&below, |job| Ok(Value::from(job.name())));
    until("the children are done", || parents.get_state(&root).unwrap() == "waiting");
    drop(working);
    let found = values_of(&root);
    for (id, name) in children.iter().zip(names) {
        let entry = (Value::from(format!("{below}:{id}")), Value::from(name));
        assert!(found.contains(&entry), "{entry:?} is not in {found:?}");
    }
    let working = Working::start(&above, |_| Ok(Value::from("root")));
    assert_eq!(parents.wait_for_job(&root, 5000).unwrap(), Value::from("root"));
    drop(working);
    let step = |name: &str| {
        let (data, options) = (number(1), JobOptions::default());
        ChainStep { name: name.into(), queue_name: above.clone(), data, options }
    };
    let chain = producer.add_chain(vec![step("one"), step("two")]).unwrap();
    assert_eq!(parents.get_state(&chain[1]).unwrap(), "waiting-children");
    let working = Working::start(&above, |_| Ok(Value::Nil));
    assert_eq!(parents.wait_for_job(&chain[1], 5000).unwrap(), Value::Nil);
    drop(working);
}

fn flow_failures() {
    let fail = JobOptions { fail_parent_on_failure: Some(true), ..Default::default() };
    let ignore = JobOptions { ignore_dependency_on_failure: Some(true), ..Default::default() };
    for (options, after) in [(fail, "failed"), (ignore, "waiting")] {
        let ((parents, above), (_, below)) = (queue(), queue());
        let child = node("child", &below, options, vec![]);
        let made = FlowProducer::new(broker()).add(node("root", &above, JobOptions::default(), vec![child])).unwrap();
        let working = Working::start(&below, |_| Err(ProcessError::unrecoverable("never")));
        until("the parent has heard", || parents.get_state(&made.job.id()).unwrap() == after);
        drop(working);
    }
}
