//! Actions on many jobs: what they would meet, and each job's own outcome. Jobs that cannot be acted on are left alone and
//! named; nothing is undone because of them.

use crate::actions::{Outcome, done, finished, look, refused};
use crate::attention::Looker;
use crate::job_actions::gone;
use crate::job_can::{promote_refusal, remove_refusal, retry_refusal};
use crate::jobs::{self, Matching, Question};
use crate::limits::{BULK_AT_ONCE, BULK_JOBS_MAX, LEFT_ALONE_MAX, SAMPLE_ROWS};
use crate::request::{JobsChosen, JobsQuery};
use crate::view::{Action, ActionResult, Failure, FailureCode, JobCounts, JobsPreview, LeftAlone, RefusalCode};
use crate::words::{count, plural};
use onceover_broker::{BrokerHandle, CoreView};
use onceover_engine::command::{Command, StateName};
use onceover_engine::job::Job;
use onceover_engine::names::JobId;
use onceover_engine::reply::Reply;

/// The actions that many jobs can be asked for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkAction {
    Retry,
    Remove,
    Promote,
}

/// Which jobs, understood.
pub enum Chosen {
    Ids(Vec<String>),
    Matching(Box<Question>),
}

impl BulkAction {
    /// # Errors
    /// Not an action on many jobs.
    pub fn of(action: Action) -> Result<BulkAction, Failure> {
        match action {
            Action::Retry => Ok(BulkAction::Retry),
            Action::Remove => Ok(BulkAction::Remove),
            Action::Promote => Ok(BulkAction::Promote),
            Action::Release
            | Action::Window
            | Action::Replay
            | Action::Pause
            | Action::Resume
            | Action::Edit
            | Action::Fail
            | Action::Return
            | Action::Drain
            | Action::Clean
            | Action::Obliterate => Err(bad("action: must be retry, remove or promote")),
        }
    }

    fn refusal(self, core: &CoreView<'_>, job: &Job) -> Option<String> {
        match self {
            BulkAction::Retry => retry_refusal(core, job),
            BulkAction::Remove => remove_refusal(job),
            BulkAction::Promote => promote_refusal(core, job),
        }
    }

    fn command(self, id: JobId) -> Command {
        match self {
            BulkAction::Retry => Command::RetryJob { id },
            BulkAction::Remove => Command::RemoveJob { id },
            BulkAction::Promote => Command::Promote { id },
        }
    }

    /// What was done, of so many jobs.
    fn sentence(self, jobs: u64) -> String {
        let jobs = plural(jobs, "job");
        match self {
            BulkAction::Retry => format!("Retried {jobs}."),
            BulkAction::Remove => format!("Removed {jobs}."),
            BulkAction::Promote => format!("{jobs} may run now."),
        }
    }
}

/// Understands a choice.
///
/// # Errors
/// Too many ids, or a filter with a mistake.
pub fn chosen(jobs: JobsChosen) -> Result<Chosen, Failure> {
    match jobs {
        JobsChosen::Ids { ids } if ids.len() > BULK_JOBS_MAX => {
            Err(bad(&format!("jobs: at most {} at once", count(BULK_JOBS_MAX as u64))))
        }
        JobsChosen::Ids { ids } => Ok(Chosen::Ids(ids)),
        JobsChosen::Matching { queue, state, filter } => {
            let query = JobsQuery { queue, state, filter, after: None, limit: 0 };
            Ok(Chosen::Matching(Box::new(jobs::question(&query)?)))
        }
    }
}

fn bad(message: &str) -> Failure {
    Failure { code: FailureCode::BadRequest, message: message.to_owned() }
}

/// The ids that a choice means now, and whether it would mean more without the bound.
async fn resolve(broker: &BrokerHandle, chosen: Chosen) -> Result<(Vec<JobId>, bool), Failure> {
    let question = match chosen {
        Chosen::Ids(ids) => return Ok((ids.iter().map(|id| JobId::parse(id)).collect(), false)),
        Chosen::Matching(question) => question,
    };
    let mut matching = Matching::new(*question, BULK_JOBS_MAX);
    while !matching.is_done() {
        matching = look(broker, move |core| matching.step(core)).await?;
    }
    let Matching { jobs, more, .. } = matching;
    let ids = look(broker, move |core| {
        let known = jobs.iter().filter_map(|key| core.engine.job_by_key(*key));
        known.map(|job| job.id.clone()).collect()
    });
    Ok((ids.await?, more))
}

/// What the action would meet.
///
/// # Errors
/// The broker does not run.
pub async fn preview(broker: &BrokerHandle, action: BulkAction, chosen: Chosen) -> Result<JobsPreview, Failure> {
    let (ids, more) = resolve(broker, chosen).await?;
    look(broker, move |core| seen(core, action, &ids, more)).await
}

fn seen(core: &CoreView<'_>, action: BulkAction, ids: &[JobId], more: bool) -> JobsPreview {
    let known: Vec<&Job> = ids.iter().filter_map(|id| core.engine.job(id)).collect();
    let looker = Looker::new(core);
    JobsPreview {
        revision: core.revision,
        now: core.now.0,
        total: known.len() as u64,
        possible: known.iter().filter(|job| action.refusal(core, job).is_none()).count() as u64,
        counts: counts(core, &known),
        keys: known.iter().filter(|job| core.engine.holds_key(job)).count() as u64,
        sample: known.iter().take(SAMPLE_ROWS).map(|job| jobs::row(core, &looker, job)).collect(),
        note: more
            .then(|| format!("More match than one action takes: these are the first {}.", count(BULK_JOBS_MAX as u64))),
    }
}

fn counts(core: &CoreView<'_>, known: &[&Job]) -> JobCounts {
    let mut counts = JobCounts { all: known.len() as u64, ..JobCounts::default() };
    for job in known {
        *match job.state_name(core.now) {
            StateName::Waiting => &mut counts.waiting,
            StateName::Prioritized => &mut counts.prioritized,
            StateName::Delayed => &mut counts.delayed,
            StateName::Active => &mut counts.active,
            StateName::WaitingChildren => &mut counts.waiting_children,
            StateName::Completed => &mut counts.completed,
            StateName::Failed => &mut counts.failed,
        } += 1;
    }
    counts
}

/// Does it, with what the window asked for.
pub async fn act(broker: &BrokerHandle, action: Action, jobs: JobsChosen) -> Outcome {
    run(broker, BulkAction::of(action)?, chosen(jobs)?).await
}

async fn run(broker: &BrokerHandle, action: BulkAction, chosen: Chosen) -> Outcome {
    let (ids, _) = resolve(broker, chosen).await?;
    let mut changed = 0_u64;
    let mut refused_ids = Vec::new();
    for part in ids.chunks(BULK_AT_ONCE) {
        // All of a part are on their way before the first is answered, so that they share a commit.
        let acts: Vec<_> = part.iter().map(|id| broker.begin(action.command(id.clone()))).collect();
        for (id, act) in part.iter().zip(acts) {
            match act.await {
                Ok(Reply::Rejected(_)) => refused_ids.push(id.clone()),
                Ok(_) => changed += 1,
                Err(error) => return partly(broker, action, changed, &error.to_string()).await,
            }
        }
    }
    let left = refused_ids.len() as u64;
    let left_alone = look(broker, move |core| left_alone(core, action, &refused_ids)).await?;
    let message = match left {
        0 => action.sentence(changed),
        left => format!("{} {} left alone.", action.sentence(changed), were(left)),
    };
    let result = if changed == 0 && left > 0 { refused(RefusalCode::NotPossible, message) } else { done(message) };
    finished(broker, ActionResult { left_alone, ..result }).await
}

fn were(number: u64) -> String {
    format!("{} {}", count(number), if number == 1 { "was" } else { "were" })
}

fn left_alone(core: &CoreView<'_>, action: BulkAction, ids: &[JobId]) -> Vec<LeftAlone> {
    let why = |id: &JobId| match core.engine.job(id) {
        None => gone(id).message,
        Some(job) => action.refusal(core, job).unwrap_or_else(|| "It changed meanwhile.".to_owned()),
    };
    let first = ids.iter().take(LEFT_ALONE_MAX);
    first.map(|id| LeftAlone { id: id.to_string(), queue: String::new(), reason: why(id) }).collect()
}

async fn partly(broker: &BrokerHandle, action: BulkAction, changed: u64, error: &str) -> Outcome {
    let message = format!("{} Then it ended: {error}", action.sentence(changed));
    finished(broker, refused(RefusalCode::NotPossible, message)).await
}
