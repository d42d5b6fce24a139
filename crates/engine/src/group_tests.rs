//! Groups in virtual time: turns, pauses, limits of workers and of groups, and what a pull costs beside blocked ones.

use super::{About, Affinity, Answer, GroupLimits, GroupWants, Request};
use crate::command::{Ack, Add, Command, Group, NewJob, Pull, RareOptions};
use crate::effects::Effects;
use crate::engine::{Engine, EngineConfig};
use crate::limit::Rate;
use crate::limits::{GROUP_LIMITS_IDLE, GROUP_LIMITS_MAX, PARKED_WISHES_MAX};
use crate::names::JobId;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::testing::{START, Stage, new_job, project};
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

impl Stage {
    fn about(&mut self, group: &str, about: About) -> Answer {
        let request = Request::Of { queue: "q".into(), group: group.into(), about };
        match self.ask(Command::Group(request)) {
            Reply::Group(answer) => answer,
            other => panic!("no answer about a group: {other:?}"),
        }
    }

    /// Jobs called by their ids; the group is an id's first letter, `-` for none.
    fn add_named(&mut self, ids: &[&str]) {
        for id in ids {
            let group = Group { id: id[..1].into(), max_size: None };
            let rare =
                (!id.starts_with('-')).then(|| Box::new(RareOptions { group: Some(group), ..Default::default() }));
            let add = Add { custom_id: Some(JobId::parse(id)), ..Add::new(NewJob { rare, ..new_job("q") }) };
            self.ask(Command::Push { add, replay_of: None });
        }
    }

    /// The ids of what is given at once.
    fn take_ids(&mut self, count: u32, wants: GroupWants) -> String {
        ids_of(&self.ask(pull(count, 0, wants)))
    }

    fn ack(&mut self, id: &str) -> Vec<(u64, Reply)> {
        self.step(Some(Command::Ack(Ack { id: JobId::parse(id), token: None, result: None, remove: false })))
    }

    fn park(&mut self, wants: GroupWants) -> u64 {
        assert!(self.step(Some(pull(1, 50_000, wants))).is_empty(), "it is parked");
        self.asked
    }
}

fn ids_of(reply: &Reply) -> String {
    let Reply::PulledBulk { jobs, .. } = reply else { panic!("no jobs: {reply:?}") };
    jobs.iter().map(|job| job.record.job.id.to_string()).collect::<Vec<_>>().join(" ")
}

/// When the parked pull is answered, and with what.
fn answered_at(stage: &mut Stage, request: u64) -> (Timestamp, String) {
    let (at, reply) = stage.answer_to(request);
    (at, ids_of(&reply))
}

fn pull(count: u32, timeout: i64, wants: GroupWants) -> Command {
    let (queue, lock_ttl, timeout) = (Arc::from("q"), Millis(600_000), Millis(timeout));
    let group = Some(wants).filter(|wants| *wants != GroupWants::default()).map(Arc::new);
    Command::Pull(Pull { queue, count, bulk: true, timeout, owner: None, lock_ttl, detach: false, group })
}

fn any() -> GroupWants {
    GroupWants::default()
}

fn at_once(concurrency: u64) -> GroupWants {
    let limits = GroupLimits { concurrency: Some(concurrency), rate: None };
    GroupWants { limits, ..any() }
}

fn rate(max: u64, duration: i64) -> Rate {
    Rate { max, duration: Millis(duration) }
}

fn per(max: u64, duration: i64) -> GroupWants {
    let limits = GroupLimits { concurrency: None, rate: Some(rate(max, duration)) };
    GroupWants { limits, ..any() }
}

fn only(affinity: Affinity) -> GroupWants {
    GroupWants { affinity, ..any() }
}

#[test]
fn groups_take_turns_behind_jobs_without_a_group() {
    let mut stage = Stage::new();
    stage.add_named(&["a1", "a2", "a3", "b1", "b2", "-1"]);
    assert_eq!(stage.take_ids(9, any()), "-1 a1 b1 a2 b2 a3");
}

#[test]
fn a_paused_group_holds_nobody_else_up_and_keeps_its_jobs() {
    let mut stage = Stage::new();
    stage.add_named(&["a1", "b1", "a2", "b2"]);
    assert_eq!(stage.about("a", About::Pause), Answer::Changed(true));
    assert_eq!(stage.about("a", About::Pause), Answer::Changed(false));
    assert_eq!(stage.about("a", About::IsPaused), Answer::Paused(true));
    assert_eq!(stage.take_ids(9, any()), "b1 b2");
    assert_eq!(stage.about("a", About::JobsCount), Answer::Count(2));
    let waits = stage.park(at_once(5));
    let request = Request::Of { queue: "q".into(), group: "a".into(), about: About::Resume };
    let replies = stage.step(Some(Command::Group(request)));
    let served = replies.iter().find(|(to, _)| *to == waits).expect("who waits is woken");
    assert_eq!(ids_of(&served.1), "a1");
    assert_eq!(stage.about("a", About::ActiveCount), Answer::Count(1));
}

#[test]
fn a_worker_with_a_concurrency_per_group_takes_no_more_of_each() {
    let mut stage = Stage::new();
    stage.add_named(&["a1", "a2", "a3", "b1", "b2", "-1"]);
    assert_eq!(stage.take_ids(9, at_once(1)), "-1 a1 b1");
    assert_eq!(stage.take_ids(9, at_once(2)), "a2 b2", "each worker by its own limit");
    assert_eq!(stage.take_ids(9, at_once(1)), "");
    let waits = stage.park(at_once(2));
    let replies = stage.ack("a1");
    let served = replies.iter().find(|(to, _)| *to == waits).expect("the slot is free");
    assert_eq!(ids_of(&served.1), "a3");
}

#[test]
fn a_stored_concurrency_counts_only_for_workers_that_have_one() {
    let mut stage = Stage::new();
    stage.add_named(&["a1", "a2", "a3", "b1", "b2"]);
    assert_eq!(stage.about("a", About::Concurrency), Answer::Concurrency(None));
    assert_eq!(stage.about("a", About::SetConcurrency(2)), Answer::Done);
    assert_eq!(stage.about("a", About::Concurrency), Answer::Concurrency(Some(2)));
    assert_eq!(stage.take_ids(9, at_once(1)), "a1 b1 a2");
    assert_eq!(stage.about("a", About::RemoveConcurrency), Answer::Removed(true));
    assert_eq!(stage.about("a", About::RemoveConcurrency), Answer::Removed(false));
    assert_eq!(stage.take_ids(9, any()), "b2 a3");
}

#[test]
fn a_rate_per_group_is_a_window_that_begins_with_the_first_start() {
    let mut stage = Stage::new();
    stage.add_named(&["a1", "a2", "a3", "b1"]);
    stage.now = stage.now.plus(Millis(300));
    assert_eq!(stage.take_ids(9, per(2, 1_000)), "a1 b1 a2");
    assert_eq!(stage.about("a", About::RateTtl(None)), Answer::Ttl(Some(Millis(1_000))));
    assert_eq!(stage.about("a", About::RateTtl(Some(3))), Answer::Ttl(Some(Millis(0))));
    assert_eq!(stage.about("c", About::RateTtl(None)), Answer::Ttl(None));
    let waits = stage.park(per(2, 1_000));
    assert_eq!(answered_at(&mut stage, waits), (START.plus(Millis(1_300)), "a3".to_owned()));
}

#[test]
fn a_stored_rate_counts_instead_of_the_workers_own() {
    let mut stage = Stage::new();
    assert_eq!(stage.about("a", About::SetRate(rate(1, 5_000))), Answer::Done);
    assert_eq!(stage.about("a", About::Rate), Answer::Rate(Some(rate(1, 5_000))));
    stage.add_named(&["a1", "a2", "b1", "b2"]);
    assert_eq!(stage.take_ids(9, per(2, 1_000)), "a1 b1 b2");
    assert_eq!(stage.about("a", About::RemoveRate), Answer::Removed(true));
    assert_eq!(stage.take_ids(9, per(2, 1_000)), "a2", "the worker's own rate has had one start less");
}

#[test]
fn workers_with_two_rates_do_not_end_each_others_windows() {
    let mut stage = Stage::new();
    stage.add_named(&["a1", "a2", "a3", "a4", "a5", "a6"]);
    assert_eq!(stage.take_ids(1, per(2, 60_000)), "a1");
    assert_eq!(stage.take_ids(9, per(3, 1_000)), "a2 a3 a4");
    assert_eq!(stage.take_ids(9, per(2, 60_000)), "", "starts under the other rate count too");
    stage.now = stage.now.plus(Millis(1_000));
    assert_eq!(stage.take_ids(1, per(2, 60_000)), "");
    assert_eq!(stage.take_ids(9, per(3, 1_000)), "a5 a6");
}

#[test]
fn a_held_group_goes_on_at_its_moment() {
    let mut stage = Stage::new();
    stage.add_named(&["a1"]);
    assert_eq!(stage.about("a", About::Hold(Millis(700))), Answer::Done);
    assert_eq!(
        (stage.take_ids(9, any()), stage.take_ids(9, only(Affinity::Group("a".into())))),
        (String::new(), String::new())
    );
    assert_eq!(stage.about("a", About::RateTtl(None)), Answer::Ttl(Some(Millis(700))));
    let waits = stage.park(any());
    assert_eq!(answered_at(&mut stage, waits), (START.plus(Millis(700)), "a1".to_owned()));
}

#[test]
fn a_pull_may_mean_one_group_or_none() {
    let mut stage = Stage::new();
    stage.add_named(&["a1", "b1", "b2", "-1"]);
    assert_eq!(stage.take_ids(9, only(Affinity::Group("b".into()))), "b1 b2");
    assert_eq!(stage.take_ids(9, only(Affinity::Ungrouped)), "-1");
    let (ungrouped, other) = (stage.park(only(Affinity::Ungrouped)), stage.park(only(Affinity::Group("c".into()))));
    assert_eq!(stage.take_ids(9, any()), "a1");
    stage.add_named(&["c1", "-2"]);
    assert_eq!(stage.engine.job(&JobId::parse("c1")).and_then(|job| Some(job.delivery.as_ref()?.number)), Some(5));
    assert_eq!(stage.engine.job(&JobId::parse("-2")).and_then(|job| Some(job.delivery.as_ref()?.number)), Some(6));
    assert!(ungrouped < other);
}

#[test]
fn who_waits_for_a_blocked_group_does_not_stand_in_the_way_of_others() {
    let mut stage = Stage::new();
    stage.add_named(&["a1", "a2"]);
    assert_eq!(stage.take_ids(9, at_once(1)), "a1");
    let first = stage.park(at_once(1));
    stage.asked += 1;
    let replies = stage.step(Some(pull(1, 50_000, any())));
    assert_eq!(replies.iter().map(|(_, reply)| ids_of(reply)).collect::<Vec<_>>(), ["a2"]);
    stage.ack("a1");
    stage.add_named(&["a3"]);
    assert!(stage.ack("a2").iter().any(|(to, reply)| *to == first && ids_of(reply) == "a3"));
}

#[test]
fn what_is_set_for_groups_survives_a_restart_and_obliterate_forgets_it() {
    let mut stage = Stage::new();
    stage.add_named(&["a1", "b1", "c1"]);
    stage.about("a", About::Pause);
    stage.about("b", About::SetConcurrency(1));
    stage.about("b", About::SetRate(rate(1, 1_000)));
    stage.about("c", About::Hold(Millis(5_000)));
    let rows = project(&stage.engine);
    stage.now = stage.now.plus(Millis(1_000));
    stage.engine =
        Engine::restore(EngineConfig::default(), 2, rows, stage.now, &mut Effects::default()).expect("good rows");
    assert_eq!(stage.take_ids(9, any()), "b1");
    assert_eq!(stage.about("a", About::IsPaused), Answer::Paused(true));
    assert_eq!(stage.about("b", About::Concurrency), Answer::Concurrency(Some(1)));
    assert_eq!(stage.about("b", About::Rate), Answer::Rate(Some(rate(1, 1_000))));
    assert_eq!(stage.about("c", About::RateTtl(None)), Answer::Ttl(Some(Millis(4_000))));
    assert!(matches!(
        stage.ask(Command::Group(Request::JobsOfAll { queue: "q".into() })),
        Reply::Group(Answer::Count(2))
    ));
    stage.ask(Command::Obliterate { queue: "q".into() });
    assert_eq!(stage.about("a", About::IsPaused), Answer::Paused(false));
    stage.add_named(&["a1", "c1"]);
    assert_eq!(stage.take_ids(9, any()), "a1 c1");
}

#[test]
fn questions_about_a_group_make_none() {
    let mut stage = Stage::new();
    for about in [About::JobsCount, About::Rate, About::RateTtl(None), About::Resume, About::RemoveRate] {
        stage.about("a", about);
    }
    assert!(stage.engine.queues().is_empty());
}

#[test]
fn kinds_of_limits_are_bounded_and_forgotten_when_nobody_has_them() {
    let mut stage = Stage::new();
    stage.add_named(&["a1"]);
    let most = GROUP_LIMITS_MAX as u64;
    (1..=most).for_each(|limit| drop(stage.ask(pull(0, 0, at_once(limit)))));
    let one_more = pull(0, 0, at_once(most + 1));
    assert!(matches!(stage.ask(one_more.clone()), Reply::Rejected(Rejection::TooManyGroupLimits(GROUP_LIMITS_MAX))));
    stage.now = stage.now.plus(GROUP_LIMITS_IDLE).plus(Millis(5_000));
    stage.step(None);
    assert!(matches!(stage.ask(one_more), Reply::PulledBulk { .. }));
}

#[test]
fn wishes_of_parked_pulls_are_bounded() {
    let mut stage = Stage::new();
    stage.checked = false;
    let park = |at: usize| pull(1, 50_000, only(Affinity::Group(at.to_string().into())));
    (0..PARKED_WISHES_MAX).for_each(|at| assert!(stage.step(Some(park(at))).is_empty()));
    let refused = stage.ask(park(PARKED_WISHES_MAX));
    assert!(matches!(refused, Reply::Rejected(Rejection::TooManyGroupLimits(PARKED_WISHES_MAX))));
    assert!(stage.step(Some(park(0))).is_empty(), "the same wish once more has room");
}
