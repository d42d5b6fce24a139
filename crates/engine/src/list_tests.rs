//! Pages of jobs: a page goes on behind every job of the list, whatever became of that job meanwhile.

use crate::command::{Command, Group, NewJob, RareOptions, StateName};
use crate::effects::Effects;
use crate::engine::{Engine, EngineConfig};
use crate::list::PAGE_ORDER;
use crate::names::{JobKey, Origin};
use crate::testing::new_job;
use crate::time::{Millis, Timestamp};
use crate::view::{JobsQuery, Look};
use std::sync::Arc;

const NOW: Timestamp = Timestamp(1_700_000_000_000);

fn run(engine: &mut Engine, command: Command) {
    let mut effects = Effects::default();
    engine.tick(NOW, &mut effects);
    engine.handle(NOW, Origin::Internal, command, &mut effects);
}

fn push(engine: &mut Engine, queue: &str, change: impl FnOnce(&mut NewJob)) {
    let mut spec = new_job(queue);
    change(&mut spec);
    let add = crate::command::Add::new(spec);
    run(engine, Command::Push { add, replay_of: None });
}

/// Two queues with jobs in every state that an add can bring about, groups and lifo included.
fn filled() -> Engine {
    let mut engine = Engine::new(EngineConfig::default(), 1);
    for n in 0..40i32 {
        for queue in ["a", "b"] {
            let rare = |group: &str| Some(Box::new(RareOptions { group: group_of(group), ..RareOptions::default() }));
            push(&mut engine, queue, |job| job.priority = n % 5 - 2);
            push(&mut engine, queue, |job| (job.lifo, job.priority) = (true, n % 3 - 1));
            push(&mut engine, queue, |job| job.delay = Millis(i64::from(n % 7) * 1_000 + 1));
            push(&mut engine, queue, |job| {
                (job.rare, job.priority) = (rare(["x", "y.z", "ü"][n as usize % 3]), n % 4 - 1)
            });
        }
    }
    engine
}

fn group_of(id: &str) -> Option<Group> {
    Some(Group { id: Arc::from(id), max_size: None })
}

fn page(engine: &Engine, query: &JobsQuery) -> (Vec<JobKey>, Option<String>) {
    let page = engine.jobs_page(query, NOW, &mut |_| Look::Take);
    (page.jobs, page.next)
}

#[test]
fn pages_of_any_length_make_up_the_whole_list() {
    let engine = filled();
    for state in [None].into_iter().chain(PAGE_ORDER.map(Some)) {
        for queue in [None, Some(Arc::from("b"))] {
            let query = JobsQuery { queue, state, after: None, limit: usize::MAX };
            let (whole, next) = page(&engine, &query);
            assert_eq!(next, None);
            assert_eq!(whole.len(), engine.listed_len(query.queue.as_deref(), state), "the length is known beforehand");
            for limit in [1, 2, 7, whole.len().max(1)] {
                let (mut found, mut after) = (Vec::new(), None);
                loop {
                    let (jobs, next) = page(&engine, &JobsQuery { after, limit, ..query.clone() });
                    found.extend(jobs);
                    after = next;
                    if after.is_none() {
                        break;
                    }
                }
                assert_eq!(found, whole, "pages of {limit} in {state:?}");
            }
        }
    }
}

#[test]
fn a_page_goes_on_behind_a_job_that_is_gone() {
    let mut engine = filled();
    let query = JobsQuery { limit: usize::MAX, ..JobsQuery::default() };
    let (whole, _) = page(&engine, &query);
    for limit in (1..whole.len() - whole.len() / 9).step_by(8) {
        let (jobs, after) = page(&engine, &JobsQuery { limit, ..query.clone() });
        let last = *jobs.last().unwrap();
        let at = whole.iter().position(|key| *key == last).unwrap();
        let id = engine.job_by_key(last).unwrap().id.clone();
        run(&mut engine, Command::Cancel { id });
        assert!(engine.job_by_key(last).is_none());
        let (rest, _) = page(&engine, &JobsQuery { after, ..query.clone() });
        let left = whole[at + 1..].iter().filter(|key| engine.job_by_key(**key).is_some());
        assert!(rest.iter().eq(left), "behind place {at}");
    }
}

#[test]
fn what_is_no_cursor_is_the_start() {
    let engine = filled();
    let query = JobsQuery { limit: 5, ..JobsQuery::default() };
    let (first, _) = page(&engine, &query);
    for after in ["", "start", "1", "9.0.1.0.0.0", "1.-1.1.0.0.0", "x.y.z", "0.0.18446744073709551616.0.0.0"] {
        assert_eq!(page(&engine, &JobsQuery { after: Some(after.to_owned()), ..query.clone() }).0, first, "{after:?}");
    }
    // A place of another state, and the last place there can be.
    for after in ["2.0.1.0.5.1.x", "1.0.1.0.-5.1.x", "3.4294967295.9223372036854775807.9223372036854775807.0.0"] {
        page(&engine, &JobsQuery { after: Some(after.to_owned()), ..query.clone() });
    }
    let state = Some(StateName::Waiting);
    assert!(page(&engine, &JobsQuery { state, after: Some("2.0.1.0.5.1.x".to_owned()), ..query }).0.len() <= 5);
}
