//! One key in full: its row, who works on its owner, its newest adds, and what a release would do.

use crate::adds;
use crate::attention::Looker;
use crate::job_can;
use crate::job_ids;
use crate::keys::{Held, row};
use crate::limits::{KEY_ADDS_MAX, LOG_SCAN_MAX, TEXT_BYTES_MAX};
use crate::release::{self, preview};
use crate::view::{Action, Can, KeyDetail, KeyWorker, ReleasePreview};
use onceover_broker::CoreView;
use onceover_broker::activity::AddEntry;
use onceover_broker::canonical_json;
use onceover_engine::dedup::{DedupWindow, KeyEntry};
use onceover_engine::job::Job;
use onceover_engine::names::JobId;

/// Runs on the core thread. None when neither a key nor an unfinished job's custom id is called so.
pub fn find(core: &CoreView<'_>, queue: &str, key: &str) -> Option<KeyDetail> {
    let Some(entry) = core.engine.key(queue, key, core.now) else { return find_job_id(core, queue, key) };
    let owner = core.engine.job_by_key(entry.owner);
    let looker = Looker::new(core);
    let held = Held { core, entry, queue, codes: looker.codes(entry, owner) };
    let adds: Vec<&AddEntry> = core.activity.of_key(queue, key, LOG_SCAN_MAX).take(KEY_ADDS_MAX).collect();
    Some(KeyDetail {
        revision: core.revision,
        now: core.now.0,
        row: row(&looker, &held),
        worker: owner.and_then(|job| worker(core, &looker, job)),
        window_note: window_note(core, entry, owner),
        hashed_text: hashed_text(core, entry),
        release: preview(core, &looker, entry),
        last_adds: adds.iter().map(|entry| adds::row(entry)).collect(),
        can: can(core, None, owner, adds.first().copied()),
    })
}

/// What can be done with a key, its owner and its last add. `fixed` says why the key itself cannot be changed.
fn can(core: &CoreView<'_>, fixed: Option<&str>, owner: Option<&Job>, add: Option<&AddEntry>) -> Vec<Can> {
    let of_key = |action| Can { action, allowed: fixed.is_none(), reason: fixed.map(str::to_owned) };
    let replay = |entry| adds::can_replay(entry, adds::whole_data(core, entry).is_some());
    let mut can = vec![of_key(Action::Release), of_key(Action::Window), add.map_or_else(no_replay, replay)];
    let about_owner = [Action::Retry, Action::Remove, Action::Return, Action::Promote];
    let of_owner = owner.map(|job| job_can::all(core, job)).unwrap_or_default();
    can.extend(of_owner.into_iter().filter(|one| about_owner.contains(&one.action)));
    can
}

/// The text whose hash is the key, as far as its owner's data still tells it.
fn hashed_text(core: &CoreView<'_>, entry: &KeyEntry) -> Option<String> {
    let data = entry.from_hash.then(|| adds::job_data(core, entry.owner)).flatten()?;
    canonical_json(&data, TEXT_BYTES_MAX).ok()
}

/// What a release would do; none when nothing is called so.
pub fn find_preview(core: &CoreView<'_>, queue: &str, key: &str) -> Option<ReleasePreview> {
    match core.engine.key(queue, key, core.now) {
        Some(entry) => Some(preview(core, &Looker::new(core), entry)),
        None => named_job(core, queue, key).map(|job| release::of_job_id(core, job)),
    }
}

fn named_job<'a>(core: &'a CoreView<'_>, queue: &str, id: &str) -> Option<&'a Job> {
    let job = core.engine.job(&JobId::parse(id))?;
    (job.is_live() && job.has_custom_id && *job.spec.queue == *queue).then_some(job)
}

fn find_job_id(core: &CoreView<'_>, queue: &str, id: &str) -> Option<KeyDetail> {
    let job = named_job(core, queue, id)?;
    let asked_for =
        |entry: &&AddEntry| entry.decided().is_some_and(|record| record.add.custom_id.as_ref() == Some(&job.id));
    let looked_at = core.activity.iter().take(LOG_SCAN_MAX);
    let adds: Vec<&AddEntry> = looked_at.filter(asked_for).take(KEY_ADDS_MAX).collect();
    let release = release::of_job_id(core, job);
    Some(KeyDetail {
        revision: core.revision,
        now: core.now.0,
        row: job_ids::row(job, core.now),
        worker: worker(core, &Looker::new(core), job),
        window_note: Some("A job ID is broker-wide and ends with its job.".to_owned()),
        hashed_text: None,
        last_adds: adds.iter().map(|entry| adds::row(entry)).collect(),
        can: can(core, release.reason.as_deref(), Some(job), adds.first().copied()),
        release,
    })
}

fn no_replay() -> Can {
    let reason = Some("The log has no add of this key any more.".to_owned());
    Can { action: Action::Replay, allowed: false, reason }
}

/// Who has a job now: the lease's name, else the registered worker or the program of its connection.
pub fn worker(core: &CoreView<'_>, looker: &Looker<'_>, job: &Job) -> Option<KeyWorker> {
    let delivery = job.delivery.as_deref()?;
    let conn = delivery.conn.and_then(|conn| core.connections.get(conn));
    let registered = delivery.conn.and_then(|conn| core.engine.workers().find(|worker| worker.conn == conn.0));
    let name = match (registered, conn, &delivery.lock) {
        (Some(worker), _, _) => worker.name.clone(),
        (None, Some(conn), _) => conn.client.label(),
        (None, None, Some(lock)) => lock.owner.to_string(),
        (None, None, None) => "a closed connection".to_owned(),
    };
    Some(KeyWorker {
        name,
        gone: looker.worker_left_at(job).is_some(),
        lease_ends_at: delivery.lock.as_ref().map(|lock| lock.expires_at.0),
    })
}

/// What the setting of the broker means for this window, where that is not plain.
fn window_note(core: &CoreView<'_>, entry: &KeyEntry, owner: Option<&Job>) -> Option<String> {
    let text = match (core.engine.config().dedup_window, entry.expires_at(), owner) {
        (_, None, _) => "No TTL: the key ends with its owner.",
        (DedupWindow::UntilDone, Some(_), _) => {
            "`dedupWindow` is `until-done`: the key ends with its owner at the latest."
        }
        (DedupWindow::Ttl, Some(_), Some(job)) if job.is_live() => {
            "The window stays to its end, also when its owner completes or fails before."
        }
        (DedupWindow::Ttl, Some(_), _) => "Its owner has ended; the window stays open to its end.",
    };
    Some(text.to_owned())
}
