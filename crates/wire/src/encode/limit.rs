//! The answer to GetQueueLimits (protocol-admin.md 3).

use super::job::millis;
use crate::msgpack::write::{self, MapWriter};
use bytes::BytesMut;
use onceover_engine::limit::{Rate, Standing};
use onceover_engine::time::Millis;

/// What clients take for "no limit".
const NO_LIMIT: Millis = Millis(-2);

pub fn standing(data: &mut MapWriter<'_>, standing: &Standing) {
    let mut limits = data.map("limits");
    limits.or_nil("rateLimit", standing.rate, rate);
    wait(&mut limits, "rateLimitTtl", standing.wait);
    limits.or_nil("concurrencyLimit", standing.concurrency, |out, most| write::int(out, most as i64));
    limits.bool("maxed", standing.maxed);
}

/// `{max, duration}`.
pub fn rate(out: &mut BytesMut, rate: Rate) {
    let mut map = MapWriter::begin(out);
    map.int("max", rate.max as i64);
    millis(map.key("duration"), rate.duration);
}

/// Milliseconds, -2 when nothing is limited.
pub fn wait(map: &mut MapWriter<'_>, name: &str, wait: Option<Millis>) {
    millis(map.key(name), wait.unwrap_or(NO_LIMIT));
}
