//! The answers to the group commands (protocol-admin.md 8).

use super::limit;
use crate::msgpack::write::{self, MapWriter};
use onceover_engine::group::Answer;

pub fn answer(map: &mut MapWriter<'_>, answer: &Answer) {
    if *answer == Answer::Done {
        return;
    }
    let mut data = map.map("data");
    match *answer {
        Answer::Count(count) => data.int("count", count as i64),
        Answer::Rate(rate) => data.or_nil("limit", rate, limit::rate),
        Answer::Ttl(left) => limit::wait(&mut data, "ttl", left),
        Answer::Concurrency(most) => data.or_nil("concurrency", most, |out, most| write::int(out, most as i64)),
        Answer::Removed(removed) => data.int("removed", i64::from(removed)),
        Answer::Changed(changed) => data.bool("changed", changed),
        Answer::Paused(paused) => data.bool("paused", paused),
        Answer::Done => {}
    }
}
