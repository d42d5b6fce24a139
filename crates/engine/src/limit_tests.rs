//! Rate and concurrency in virtual time.

use super::{Limits, Rate, Request, Standing};
use crate::change::QueueSettings;
use crate::command::{Ack, Add, Command, NewJob, Pull};
use crate::effects::Effects;
use crate::engine::{Engine, EngineConfig};
use crate::names::{ConnId, Origin};
use crate::reply::Reply;
use crate::testing::{START, Stage, new_job, project};
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

impl Stage {
    fn limit(&mut self, request: Request) {
        assert!(matches!(self.ask(Command::Limit(request)), Reply::Ok));
    }

    fn set_rate(&mut self, max: u64, duration: i64, ttl: Option<i64>) {
        let rate = Rate { max, duration: Millis(duration) };
        self.limit(Request::SetRate { queue: "q".into(), rate, ttl: ttl.map(Millis) });
    }

    fn set_concurrency(&mut self, limit: u64) {
        self.limit(Request::SetConcurrency { queue: "q".into(), limit });
    }

    fn standing(&mut self, max_jobs: Option<u64>) -> Standing {
        match self.ask(Command::Limit(Request::Get { queue: "q".into(), max_jobs })) {
            Reply::Limits(standing) => standing,
            other => panic!("no limits: {other:?}"),
        }
    }

    fn add(&mut self, count: usize) {
        for _ in 0..count {
            let add = Add::new(NewJob { max_attempts: 100, ..new_job("q") });
            self.ask(Command::Push { add, replay_of: None });
        }
    }

    /// How many of `count` are given at once.
    fn take(&mut self, count: u32) -> usize {
        match self.ask(pull(count, 0)) {
            Reply::PulledBulk { jobs, .. } => jobs.len(),
            other => panic!("no jobs: {other:?}"),
        }
    }

    fn finish_one(&mut self) {
        let id = self.engine.jobs().find(|job| job.delivery.is_some()).expect("an active job").id.clone();
        let ack = Ack { id, token: None, result: None, remove: false };
        assert!(matches!(self.step(Some(Command::Ack(ack))).last(), Some((_, Reply::Ok))));
    }

    /// When the parked pull is answered.
    fn answered_at(&mut self, request: u64) -> Timestamp {
        self.answer_to(request).0
    }

    fn restart(&mut self, down: i64) {
        let rows = project(&self.engine);
        self.now = self.now.plus(Millis(down));
        let mut effects = Effects::default();
        self.engine = Engine::restore(EngineConfig::default(), 2, rows, self.now, &mut effects).expect("good rows");
        self.engine.check(self.now);
    }
}

fn pull(count: u32, timeout: i64) -> Command {
    let (queue, lock_ttl) = (Arc::from("q"), Millis(600_000));
    let timeout = Millis(timeout);
    Command::Pull(Pull { queue, count, bulk: true, timeout, owner: None, lock_ttl, detach: false, group: None })
}

#[test]
fn of_a_rate_of_two_the_third_take_gets_nothing() {
    let mut stage = Stage::new();
    stage.set_rate(2, 1_000, None);
    stage.add(5);
    assert_eq!((stage.take(1), stage.take(1), stage.take(1)), (1, 1, 0));
    stage.now = stage.now.plus(Millis(499));
    assert_eq!(stage.take(5), 0);
    stage.now = stage.now.plus(Millis(1));
    assert_eq!(stage.take(5), 1);
}

#[test]
fn a_parked_pull_is_woken_at_the_moment_of_the_refill() {
    let mut stage = Stage::new();
    stage.set_rate(2, 1_000, None);
    stage.add(3);
    assert_eq!(stage.take(10), 2);
    assert!(stage.step(Some(pull(1, 3_000))).is_empty(), "it is parked");
    let asked = stage.asked;
    assert_eq!(stage.answered_at(asked), START.plus(Millis(500)), "D-4");
}

#[test]
fn nobody_waits_for_a_token_when_the_last_ready_job_is_gone() {
    let mut stage = Stage::new();
    stage.set_rate(1, 1_000, None);
    stage.add(2);
    assert_eq!(stage.take(1), 1);
    assert!(stage.step(Some(pull(1, 50_000))).is_empty(), "it is parked");
    let waiting = |job: &&crate::job::Job| job.delivery.is_none();
    let id = stage.engine.jobs().find(waiting).expect("a job that waits").id.clone();
    assert!(matches!(stage.ask(Command::Cancel { id }), Reply::Ok));
}

#[test]
fn nobody_waits_for_a_token_of_a_paused_queue() {
    let mut stage = Stage::new();
    stage.set_rate(1, 1_000, None);
    stage.add(2);
    assert_eq!(stage.take(1), 1);
    assert!(stage.step(Some(pull(1, 50_000))).is_empty(), "it is parked");
    let request = stage.asked;
    assert!(matches!(stage.ask(Command::Pause { queue: "q".into() }), Reply::Ok));
    stage.now = stage.now.plus(Millis(3_000));
    let replies = stage.step(Some(Command::Resume { queue: "q".into() }));
    assert!(replies.iter().any(|(to, _)| *to == request), "the token is there when the queue goes on");
}

#[test]
fn a_limit_that_is_cleared_or_raised_wakes_who_waits() {
    let mut stage = Stage::new();
    stage.set_rate(1, 60_000, None);
    stage.add(3);
    assert_eq!(stage.take(1), 1);
    stage.step(Some(pull(1, 9_000)));
    let waits = stage.asked;
    let replies = stage.step(Some(Command::Limit(Request::ClearRate { queue: "q".into() })));
    assert!(replies.iter().any(|(to, _)| *to == waits));
    stage.set_concurrency(2);
    stage.step(Some(pull(1, 9_000)));
    let waits = stage.asked;
    let replies = stage.step(Some(Command::Limit(Request::SetConcurrency { queue: "q".into(), limit: 3 })));
    assert!(replies.iter().any(|(to, _)| *to == waits));
}

#[test]
fn concurrency_counts_jobs_that_were_active_before_it_was_set() {
    let mut stage = Stage::new();
    stage.add(4);
    assert_eq!(stage.take(2), 2);
    stage.set_concurrency(1);
    assert!(stage.standing(None).maxed);
    assert_eq!(stage.take(1), 0);
    stage.finish_one();
    assert_eq!(stage.take(1), 0, "one is still active");
    stage.finish_one();
    assert!(!stage.standing(None).maxed);
    assert_eq!(stage.take(5), 1);
}

#[test]
fn a_slot_that_is_freed_goes_to_who_waits() {
    let mut stage = Stage::new();
    stage.add(2);
    stage.set_concurrency(1);
    assert_eq!(stage.take(1), 1);
    stage.step(Some(pull(1, 9_000)));
    let waits = stage.asked;
    let id = stage.engine.jobs().find(|job| job.delivery.is_some()).expect("an active job").id.clone();
    let replies = stage.step(Some(Command::Ack(Ack { id, token: None, result: None, remove: false })));
    assert!(replies.iter().any(|(to, _)| *to == waits));
}

#[test]
fn a_refusal_costs_no_token() {
    let mut stage = Stage::new();
    stage.set_rate(2, 1_000, None);
    stage.set_concurrency(1);
    stage.add(3);
    assert_eq!((stage.take(3), stage.take(3), stage.take(3)), (1, 0, 0));
    stage.finish_one();
    assert_eq!(stage.take(3), 1, "the second token is still there");
}

#[test]
fn a_temporary_rate_hides_the_permanent_one_until_its_end() {
    let mut stage = Stage::new();
    let (permanent, zero) = (Rate { max: 3, duration: Millis(1_000) }, Rate { max: 0, duration: Millis(1_000) });
    stage.set_rate(3, 1_000, None);
    stage.set_rate(0, 1_000, Some(700));
    stage.add(9);
    assert_eq!(
        (stage.take(9), stage.standing(None).rate, stage.standing(None).wait),
        (0, Some(zero), Some(Millis(700)))
    );
    assert!(stage.step(Some(pull(1, 3_000))).is_empty(), "it is parked");
    let asked = stage.asked;
    assert_eq!(stage.answered_at(asked), START.plus(Millis(700)));
    assert_eq!(stage.standing(None).rate, Some(permanent));
}

#[test]
fn the_same_rate_once_more_does_not_fill_the_bucket() {
    let mut stage = Stage::new();
    stage.set_rate(2, 1_000, None);
    stage.add(9);
    assert_eq!(stage.take(9), 2);
    stage.set_rate(2, 1_000, None);
    assert_eq!(stage.take(9), 0);
    stage.set_rate(3, 1_000, None);
    assert_eq!(stage.take(9), 3, "another rate starts full");
}

#[test]
fn what_is_told_of_the_limits() {
    let mut stage = Stage::new();
    let nothing = Standing { rate: None, wait: None, concurrency: None, maxed: false };
    assert_eq!(stage.standing(None), nothing);
    assert!(stage.engine.queues().is_empty(), "a question makes no queue");
    stage.set_rate(2, 1_000, None);
    stage.add(3);
    assert_eq!(stage.standing(None).wait, Some(Millis(0)));
    stage.take(2);
    assert_eq!(stage.standing(None).wait, Some(Millis(500)));
    assert_eq!((stage.standing(Some(3)).wait, stage.standing(Some(2)).wait), (Some(Millis(0)), Some(Millis(500))));
    stage.limit(Request::ClearRate { queue: "q".into() });
    assert_eq!(stage.standing(None), nothing);
    stage.set_concurrency(0);
    assert_eq!((stage.standing(None).maxed, stage.take(1)), (true, 0));
    stage.limit(Request::ClearConcurrency { queue: "q".into() });
    assert_eq!(stage.take(1), 1);
}

#[test]
fn a_restart_keeps_the_limits_and_knows_what_was_started_lately() {
    let mut stage = Stage::new();
    stage.set_rate(3, 60_000, None);
    stage.set_concurrency(2);
    stage.add(9);
    assert_eq!(stage.take(9), 2);
    stage.restart(1_000);
    // Both were active: the restart counts an attempt and puts them back. Their starts still count for the rate.
    stage.now = stage.now.plus(Millis(10_000));
    assert_eq!(stage.take(9), 1);
    assert_eq!(stage.standing(None).concurrency, Some(2));
}

#[test]
fn a_temporary_rate_ends_at_its_moment_also_when_nobody_runs() {
    let mut stage = Stage::new();
    stage.set_rate(1, 1_000, Some(5_000));
    stage.restart(2_000);
    assert_eq!(stage.standing(None).wait, Some(Millis(3_000)));
    stage.restart(3_000);
    assert_eq!(stage.standing(None).rate, None);
}

#[test]
fn obliterate_forgets_the_limits() {
    let mut stage = Stage::new();
    stage.set_rate(1, 1_000, None);
    stage.set_rate(1, 1_000, Some(5_000));
    stage.set_concurrency(1);
    stage.ask(Command::Obliterate { queue: "q".into() });
    stage.add(3);
    assert_eq!(stage.take(9), 3);
}

#[test]
fn over_a_minute_the_rate_holds_and_no_moment_is_missed() {
    let mut stage = Stage::new();
    stage.set_rate(7, 1_000, None);
    stage.add(430);
    assert_eq!(stage.take(1_000), 7);
    let mut taken = 0;
    let end = START.plus(Millis(60_000));
    while stage.now < end {
        stage.step(Some(pull(1, 60_000)));
        let asked = stage.asked;
        if stage.answered_at(asked) <= end {
            taken += 1;
        }
    }
    assert_eq!(taken, 420, "seven a second");
}

#[test]
fn settings_without_limits_are_the_default() {
    let QueueSettings { limits, .. } = crate::queue::default_settings();
    assert_eq!(limits, Limits::default());
}

#[test]
fn a_dashboard_is_told_of_limits_and_of_what_they_refuse() {
    let mut stage = Stage::new();
    stage.add(3);
    let rate = |ttl| Request::SetRate { queue: "q".into(), rate: Rate { max: 1, duration: Millis(1_000) }, ttl };
    let commands = [
        Command::Limit(rate(None)),
        Command::Limit(rate(Some(Millis(5_000)))),
        pull(1, 0),
        pull(1, 0),
        Command::Limit(Request::ClearRate { queue: "q".into() }),
        Command::Limit(Request::SetConcurrency { queue: "q".into(), limit: 1 }),
        pull(1, 500),
        Command::Limit(Request::ClearConcurrency { queue: "q".into() }),
        Command::Limit(Request::Get { queue: "q".into(), max_jobs: None }),
    ];
    let mut effects = Effects { watched: true, ..Effects::default() };
    for command in commands {
        let origin = Origin::Client { conn: ConnId(1), request: 1 };
        stage.engine.handle(stage.now, origin, command, &mut effects);
    }
    let told: Vec<(&str, usize)> = effects.notices.iter().map(|notice| (notice.name, notice.fields.len())).collect();
    let wanted = [
        ("ratelimit:set", 3),
        ("ratelimit:set", 4),
        ("ratelimit:rejected", 1),
        ("ratelimit:cleared", 1),
        ("concurrency:set", 2),
        ("concurrency:rejected", 1),
        ("concurrency:cleared", 1),
    ];
    assert_eq!(told, wanted);
}
