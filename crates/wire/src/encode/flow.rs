//! Answers about trees of jobs (protocol-admin.md 7).

use super::EncodeCtx;
use super::job::{self, Extras};
use crate::msgpack::write::{self, MapWriter};
use bytes::BytesMut;
use onceover_engine::flow::{Answer, ChildFailure, ChildValue};
use onceover_engine::job::Blob;
use onceover_engine::names::JobId;

pub fn answer(map: &mut MapWriter<'_>, answer: &Answer, ctx: EncodeCtx) {
    match answer {
        Answer::Pushed(records) => {
            map.map("data").list("jobs", records.iter(), |out, record| job::record(out, record, Extras::None, ctx));
        }
        Answer::Values(values) => values_of_children(map.map("data").key("values"), values),
        Answer::Failures(failures) => failures_of_children(map.key("values"), failures),
        Answer::Detached(removed) => map.bool("removed", *removed),
    }
}

/// A parent may have more children than a `MapWriter` counts.
fn values_of_children(out: &mut BytesMut, values: &[ChildValue]) {
    // A result that could not be read is left out.
    let found = |child: &&ChildValue| matches!(child.value, Blob::Here(_));
    write::map(out, values.iter().filter(found).count());
    for child in values.iter().filter(found) {
        write_name(out, &child.queue, &child.id);
        if let Blob::Here(value) = &child.value {
            write::raw(out, value);
        }
    }
}

fn failures_of_children(out: &mut BytesMut, failures: &[ChildFailure]) {
    write::map(out, failures.len());
    for child in failures {
        write_name(out, &child.queue, &child.id);
        write::str(out, &child.error);
    }
}

/// How a parent's clients call a child.
fn write_name(out: &mut BytesMut, queue: &str, id: &JobId) {
    write::str(out, &format!("{queue}:{id}"));
}
