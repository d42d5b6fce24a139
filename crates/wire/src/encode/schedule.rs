//! Schedules as clients see them: data, key and policies are not told, as in bunqueue.

use super::job::{millis, time};
use crate::msgpack::write::{self, MapWriter};
use bytes::BytesMut;
use onceover_engine::schedule::{Answer, Schedule, Timing};

pub fn answer(map: &mut MapWriter<'_>, answer: &Answer) {
    match answer {
        Answer::One(schedule) => one(map.key("cron"), schedule),
        Answer::All(schedules) => map.list("crons", schedules.iter(), one),
    }
}

fn one(out: &mut BytesMut, schedule: &Schedule) {
    let rule = &*schedule.rule;
    let (pattern, every) = match &rule.timing {
        Timing::Calendar(pattern) => (Some(&**pattern.text()), rule.also_every),
        Timing::Every(every) => (None, Some(*every)),
    };
    let mut map = MapWriter::begin(out);
    map.str("name", &rule.name);
    map.str("jobName", &rule.spec.name);
    map.str("queue", &rule.spec.queue);
    map.or_nil("schedule", pattern, write::str);
    map.or_nil("repeatEvery", every, millis);
    map.or_nil("nextRun", Some(schedule.next_run), time);
    map.int("executions", schedule.executions as i64);
    map.or_nil("maxLimit", rule.limit, |out, limit| write::int(out, limit as i64));
    map.or_nil("timezone", rule.timezone.as_deref(), write::str);
    map.int("priority", i64::from(rule.spec.priority));
}
