//! Answers to the commands of webhooks. The secret is in none of them.

use super::job::time;
use crate::msgpack::write::{self, MapWriter};
use bytes::BytesMut;
use onceover_engine::webhook::{Answer, Webhook};

/// Everything of an answer but `ok` and its request number.
pub fn answer(map: &mut MapWriter<'_>, answer: &Answer) {
    let mut data = map.map("data");
    match answer {
        Answer::Added(webhook) => {
            data.str("webhookId", &webhook.id);
            asked(&mut data, webhook);
        }
        Answer::Removed => data.bool("removed", true),
        Answer::List(webhooks) => {
            data.list("webhooks", webhooks.iter(), listed);
            let mut stats = data.map("stats");
            stats.int("total", webhooks.len() as i64);
            stats.int("enabled", webhooks.iter().filter(|webhook| webhook.enabled).count() as i64);
        }
    }
}

fn listed(out: &mut BytesMut, webhook: &Webhook) {
    let mut map = MapWriter::begin(out);
    map.str("id", &webhook.id);
    asked(&mut map, webhook);
    map.or_nil("lastTriggered", webhook.last_triggered, time);
    map.int("successCount", webhook.successes as i64);
    map.int("failureCount", webhook.failures as i64);
    map.bool("enabled", webhook.enabled);
}

fn asked(map: &mut MapWriter<'_>, webhook: &Webhook) {
    map.str("url", &webhook.url);
    map.list("events", webhook.events.iter(), |out, event| write::str(out, event.as_str()));
    map.or_nil("queue", webhook.queue.as_deref(), write::str);
    map.time("createdAt", webhook.created_at.0);
}
