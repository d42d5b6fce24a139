//! What clients read of a job's links inside its data: `__parentId`, `__parentQueue`, `__childrenIds`.
//!
//! They stand in the data as the client wrote them. Once a link has changed they would be wrong there, so they are written
//! anew whenever the job is sent; the stored payload stays as it came.

use crate::encode::{write_id, write_ids};
use crate::msgpack::write;
use crate::msgpack::{Raw, Value};
use bytes::BytesMut;
use onceover_engine::flow::Links;
use onceover_engine::job::{Blob, Job};
use std::sync::Arc;

/// Names the parent.
pub const PARENT_ID: &str = "__parentId";
/// Names the parent's queue.
pub const PARENT_QUEUE: &str = "__parentQueue";
/// Lists the children.
pub const CHILDREN_IDS: &str = "__childrenIds";

/// The job's data as clients must see it, if that is not what is stored. Data that is no map has no markers.
#[must_use]
pub fn marked(job: &Job) -> Option<Blob> {
    let links = job.changed_links()?;
    let Blob::Here(data) = &job.data else { return None };
    let Value::Map(map) = Raw::parse(data).ok()?.value() else { return None };
    let asked = job.spec.rare.as_deref();
    let had_parent = asked.is_some_and(|rare| rare.parent_id.is_some());
    let had_children = asked.is_some_and(|rare| !rare.children_ids.is_empty());
    // Markers of links that never were, such as those of a chain, are the client's own.
    let new_parent = links.parent.as_ref().zip(links.parent_queue.as_ref());
    let parent_changes = new_parent.is_some() || (had_parent && links.parent.is_none());
    let children_change = !links.children.is_empty() || had_children;
    let stays = |key: &Raw<'_>| match key.value() {
        Value::Str(name) if parent_changes && (name == PARENT_ID.as_bytes() || name == PARENT_QUEUE.as_bytes()) => {
            false
        }
        Value::Str(name) if children_change && name == CHILDREN_IDS.as_bytes() => false,
        _ => true,
    };
    let kept: Vec<(Raw<'_>, Raw<'_>)> = map.spans().filter(|(key, _)| stays(key)).collect();
    let mut out = BytesMut::with_capacity(data.len() + 128);
    let more = 2 * usize::from(new_parent.is_some()) + usize::from(!links.children.is_empty());
    write::map(&mut out, kept.len() + more);
    for (key, value) in kept {
        write::raw(&mut out, key.bytes());
        write::raw(&mut out, value.bytes());
    }
    append(&mut out, links);
    Some(Blob::Here(Arc::from(&out[..])))
}

fn append(out: &mut BytesMut, links: &Links) {
    if let Some((parent, queue)) = links.parent.as_ref().zip(links.parent_queue.as_ref()) {
        write::str(out, PARENT_ID);
        write_id(out, parent);
        write::str(out, PARENT_QUEUE);
        write::str(out, queue);
    }
    if !links.children.is_empty() {
        write::str(out, CHILDREN_IDS);
        write_ids(out, links.children.iter());
    }
}
