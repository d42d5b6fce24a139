//! What an add asked for, in the names of the wire: the drawer's list, and a job's record as text.
//!
//! Only what differs from the defaults is listed, because a client that leaves an option out and one that sends its default
//! ask for the same.

use crate::view::Named;
use onceover_engine::command::{Add, Backoff, NewJob, RareOptions};
use onceover_engine::names::JobId;
use onceover_engine::schedule::Timing;

/// Attempts of a job whose add does not say.
const ATTEMPTS_DEFAULT: u32 = 3;

/// Every option of an add, with queue and name first. `bulk` says that it came in a batch, where the id is named differently.
pub fn asked(add: &Add, bulk: bool) -> Vec<Named> {
    let spec = &add.spec;
    let mut list = List(vec![]);
    list.text("queue", &spec.queue);
    list.text("name", &spec.name);
    if let Some(id) = &add.custom_id {
        list.text(if bulk { "customId" } else { "jobId" }, &id.to_string());
    }
    list.0.extend(options(spec, add.dedup_key.as_deref()));
    list.0
}

/// The options alone.
pub fn options(spec: &NewJob, dedup_key: Option<&str>) -> Vec<Named> {
    let mut list = List(vec![]);
    if let Some(key) = dedup_key {
        let dedup = &spec.dedup;
        if dedup.from_hash {
            list.flag("dedup.hash", true);
        } else {
            list.text("uniqueKey", key);
        }
        list.number("dedup.ttl", dedup.ttl.map(|ttl| ttl.0));
        list.flag("dedup.extend", dedup.extend);
        list.flag("dedup.replace", dedup.replace);
        list.flag("dedup.keepLastIfActive", dedup.keep_last);
    }
    list.number("priority", (spec.priority != 0).then_some(spec.priority));
    list.number("delay", (spec.delay.0 != 0).then_some(spec.delay.0));
    list.number("maxAttempts", (spec.max_attempts != ATTEMPTS_DEFAULT).then_some(spec.max_attempts));
    if spec.backoff != Backoff::default() {
        list.text("backoff", &backoff(spec.backoff));
    }
    list.flag("lifo", spec.lifo);
    list.flag("removeOnComplete", spec.remove_on_complete);
    list.flag("removeOnFail", spec.remove_on_fail);
    list.flag("durable", spec.durable);
    if let Some(rare) = &spec.rare {
        list.rare(rare);
    }
    list.0
}

fn backoff(backoff: Backoff) -> String {
    match (backoff.as_object, backoff.fixed) {
        (false, _) => backoff.delay.0.to_string(),
        (true, fixed) => {
            let kind = if fixed { "fixed" } else { "exponential" };
            format!("{{\"type\": \"{kind}\", \"delay\": {}}}", backoff.delay.0)
        }
    }
}

struct List(Vec<Named>);

impl List {
    fn text(&mut self, name: &str, value: &str) {
        self.0.push(Named { name: name.to_owned(), value: value.to_owned() });
    }

    fn number(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.text(name, &value.to_string());
        }
    }

    fn flag(&mut self, name: &str, value: bool) {
        if value {
            self.text(name, "true");
        }
    }

    fn ids(&mut self, name: &str, ids: &[JobId]) {
        if !ids.is_empty() {
            let ids: Vec<String> = ids.iter().map(JobId::to_string).collect();
            self.text(name, &ids.join(", "));
        }
    }

    fn rare(&mut self, rare: &RareOptions) {
        self.ids("dependsOn", &rare.depends_on);
        self.number("parentId", rare.parent_id.as_ref());
        self.ids("childrenIds", &rare.children_ids);
        if !rare.tags.is_empty() {
            self.text("tags", &rare.tags.join(", "));
        }
        self.number("timeout", rare.timeout.map(|time| time.0));
        self.number("ttl", rare.ttl.map(|time| time.0));
        self.number("stallTimeout", rare.stall_timeout.map(|time| time.0));
        self.number("timestamp", rare.timestamp.map(|at| at.0));
        self.number("stackTraceLimit", rare.stack_trace_limit);
        self.number("keepLogs", rare.keep_logs);
        self.number("sizeLimit", rare.size_limit);
        self.number("debounceId", rare.debounce_id.as_ref());
        self.number("debounceTtl", rare.debounce_ttl);
        self.flag("failParentOnFailure", rare.fail_parent_on_failure);
        self.flag("removeDependencyOnFailure", rare.remove_dependency_on_failure);
        self.flag("continueParentOnFailure", rare.continue_parent_on_failure);
        self.flag("ignoreDependencyOnFailure", rare.ignore_dependency_on_failure);
        if let Some(group) = &rare.group {
            self.text("groupId", &group.id);
            self.number("groupMaxSize", group.max_size);
        }
        if let Some(repeat) = &rare.repeat {
            match &repeat.timing {
                Timing::Every(every) => self.number("repeat.every", Some(every.0)),
                Timing::Calendar(pattern) => {
                    self.text("repeat.pattern", pattern.text());
                    self.number("repeat.tz", pattern.zone().map(|zone| zone.name()));
                }
            }
            self.number("repeat.startDate", repeat.start.map(|at| at.0));
            self.number("repeat.endDate", repeat.end.map(|at| at.0));
            self.number("repeat.offset", Some(repeat.offset.0).filter(|offset| *offset != 0));
            if let Some(id) = &repeat.job_id {
                self.text("repeat.jobId", id);
            }
            self.number("repeat.limit", repeat.limit);
            self.number("repeat.count", (repeat.count > 0).then_some(repeat.count));
        }
    }
}
