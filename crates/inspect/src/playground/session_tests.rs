//! A run under its clock: by hand, by looks at any pace, and within its bounds.
use super::limits::{ADDS_MAX, LINES_MAX, SESSION_IDLE_MAX, SESSIONS_MAX};
use super::scenario::{LaneSpec, LaneStrategy, Scenario, WorkerMove, WorkerSpec, shipped};
use super::session::Session;
use super::{Playgrounds, scenarios};
use crate::request::PlaygroundAct;
use crate::view::{Decision, FailureCode, JobState, LaneEnding, PlayClock, PlayRun, PlaygroundView};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// A window with a clock of its own.
struct Window {
    all: Playgrounds,
    at: Instant,
}

impl Window {
    fn new(scenario: Scenario) -> Window {
        let mut window = Window { all: Playgrounds::default(), at: Instant::now() };
        window.act(PlaygroundAct::Load { scenario });
        window
    }

    fn act(&mut self, act: PlaygroundAct) -> PlaygroundView {
        self.all.act("w", act, self.at).unwrap()
    }

    fn refused(&mut self, act: PlaygroundAct) -> String {
        let failure = self.all.act("w", act, self.at).unwrap_err();
        assert_eq!(failure.code, FailureCode::BadRequest);
        failure.message
    }

    /// Lets time pass on the wall, in looks of 100 ms.
    fn wait(&mut self, ms: u32) -> PlaygroundView {
        for _ in 0..ms / 100 {
            self.at += 100 * MS;
            self.act(PlaygroundAct::Look { since: None });
        }
        self.act(PlaygroundAct::Look { since: None })
    }

    fn add(&mut self) -> PlaygroundView {
        self.act(PlaygroundAct::Add { v: None, key: None, queue: None })
    }

    fn work(&mut self, lane: Option<u8>, what: WorkerMove) -> PlaygroundView {
        self.act(PlaygroundAct::Work { lane, what })
    }
}

fn run(view: &PlaygroundView) -> &PlayRun {
    view.run.as_deref().unwrap()
}

fn lane(strategy: LaneStrategy, ttl_ms: Option<u32>) -> LaneSpec {
    LaneSpec { strategy, ttl_ms, delay_ms: 0 }
}

/// Played by hand, with workers that wait for orders.
fn by_hand(lanes: &[LaneSpec]) -> Scenario {
    let custom = scenarios().scenarios.pop().unwrap();
    Scenario { lanes: lanes.to_vec(), worker: WorkerSpec { auto: false, ..custom.worker.clone() }, ..custom }
}

fn states(run: &PlayRun, lane: usize) -> Vec<Option<JobState>> {
    run.lanes[lane]
        .jobs
        .iter()
        .map(|job| job.spans.iter().find(|span| span.to.is_none()).map(|span| span.state))
        .collect()
}

#[test]
fn one_add_reaches_all_lanes_at_the_same_instant() {
    let lanes =
        [lane(LaneStrategy::Plain, None), lane(LaneStrategy::Extend, Some(2_000)), lane(LaneStrategy::Replace, None)];
    let mut window = Window::new(by_hand(&lanes));
    window.add();
    window.wait(300);
    let view = window.add();
    let decisions: Vec<_> = run(&view).lanes.iter().map(|lane| (lane.adds[1].t, lane.adds[1].decision)).collect();
    assert_eq!(decisions, [(300, Decision::ExistingKey), (300, Decision::Extended), (300, Decision::Replaced)]);
    assert_eq!(run(&view).newest_v, 2);
    let key = &run(&view).lanes[1].keys[0];
    assert_eq!((key.from, key.to, key.until), (0, None, Some(2_300)));
}

#[test]
fn the_hash_lane_tells_data_apart() {
    let mut window = Window::new(by_hand(&[lane(LaneStrategy::Hash, None)]));
    for v in [1, 2, 1] {
        window.act(PlaygroundAct::Add { v: Some(v), key: None, queue: None });
    }
    let view = window.act(PlaygroundAct::Look { since: None });
    let decisions: Vec<_> = run(&view).lanes[0].adds.iter().map(|add| add.decision).collect();
    assert_eq!(decisions, [Decision::Created, Decision::Created, Decision::ExistingHash]);
}

#[test]
fn a_worker_by_hand_takes_completes_fails_and_dies() {
    let mut window = Window::new(by_hand(&[lane(LaneStrategy::None, None), lane(LaneStrategy::None, None)]));
    window.add();
    let view = window.work(Some(0), WorkerMove::PickUp);
    assert_eq!(
        (states(run(&view), 0), states(run(&view), 1)),
        (vec![Some(JobState::Active)], vec![Some(JobState::Waiting)])
    );
    assert_eq!((run(&view).lanes[0].held, run(&view).lanes[1].ready), (1, 1));
    let view = window.work(Some(0), WorkerMove::Fail);
    assert_eq!(states(run(&view), 0), [Some(JobState::Delayed)]);
    assert!(run(&view).lines.iter().any(|line| line.text.contains("failed, attempt 1 of 3. It is tried again in")));
    window.wait(1_500);
    window.work(Some(0), WorkerMove::PickUp);
    let view = window.work(Some(0), WorkerMove::Complete);
    assert_eq!(run(&view).lanes[0].jobs[0].end.as_ref().map(|end| end.how), Some(LaneEnding::Completed));
    assert_eq!(run(&view).lanes[0].figures.runs, 2);
    window.work(Some(1), WorkerMove::PickUp);
    window.wait(6_000);
    // A worker that is alive keeps its job beyond the lease, by its heartbeats.
    let view = window.work(Some(1), WorkerMove::Kill);
    assert_eq!(states(run(&view), 1), [Some(JobState::Active)]);
    assert_eq!(run(&view).lanes[1].held, 0);
    let view = window.wait(10_000);
    assert_eq!(states(run(&view), 1), [Some(JobState::Waiting)]);
    assert!(run(&view).lines.iter().any(|line| line.text.ends_with("ran out: it waits again.")));
    let view = window.work(Some(1), WorkerMove::Complete);
    assert_eq!(run(&view).lines.last().unwrap().text, "No worker has a job in its hands.");
}

#[test]
fn every_nth_attempt_fails_until_the_job_is_lost() {
    let mut scenario = by_hand(&[lane(LaneStrategy::None, None)]);
    scenario.worker = WorkerSpec { auto: true, duration_ms: 100, fail_every: 1, lease_ms: 5_000 };
    let mut window = Window::new(scenario);
    window.add();
    let view = window.wait(8_000);
    let figures = &run(&view).lanes[0].figures;
    assert_eq!((figures.jobs, figures.runs, figures.failed), (1, 3, 1));
    assert!(run(&view).lines.last().unwrap().text.ends_with("failed for good."));
    assert_eq!((view.clock, view.note.is_some()), (PlayClock::Paused, true), "nothing is left that could happen");
}

#[test]
fn the_pace_of_looking_changes_nothing() {
    let scenario = shipped().remove(4);
    let at = Instant::now();
    let [mut fast, mut slow] = [1, 1].map(|base| Session::new(scenario.clone(), base, at));
    fast.run(at);
    slow.run(at);
    for step in 1..=10_000 {
        fast.catch_up(at + step * MS);
        if step % 1_900 == 0 {
            slow.catch_up(at + step * MS);
        }
    }
    slow.catch_up(at + 10_000 * MS);
    assert_eq!((fast.view(None).clock, slow.view(None).clock), (PlayClock::Done, PlayClock::Done));
    assert_eq!(fast.view(None), slow.view(None));
}

#[test]
fn the_clock_starts_stops_steps_and_runs_faster() {
    let mut window = Window::new(shipped().remove(0));
    assert_eq!(window.wait(1_000).t_ms, 0, "it is not started");
    window.act(PlaygroundAct::Run);
    assert_eq!(window.wait(500).t_ms, 500);
    let paused = window.act(PlaygroundAct::Pause);
    assert_eq!((paused.clock, window.wait(1_000).t_ms), (PlayClock::Paused, 500));
    let stepped = window.act(PlaygroundAct::Step);
    assert_eq!((stepped.t_ms, stepped.clock), (750, PlayClock::Paused), "the second click");
    assert_eq!(window.act(PlaygroundAct::Step).t_ms, 1_600, "the end of the first job");
    window.act(PlaygroundAct::Speed { speed: 5 });
    window.act(PlaygroundAct::Run);
    assert_eq!(window.wait(200).t_ms, 2_600);
    let done = window.wait(1_000);
    assert_eq!((done.clock, done.t_ms), (PlayClock::Done, 3_500));
    let again = window.act(PlaygroundAct::Run);
    assert_eq!((again.clock, again.t_ms, again.speed, run(&again).lines.len()), (PlayClock::Running, 0, 5, 0));
    assert!(again.revision > done.revision);
    assert_eq!(window.refused(PlaygroundAct::Speed { speed: 3 }), "speed: must be 1, 2 or 5");
}

#[test]
fn a_run_that_nobody_looks_at_stands_still() {
    let mut window = Window::new(shipped().remove(1));
    window.act(PlaygroundAct::Run);
    window.at += Duration::from_secs(60);
    assert_eq!(window.act(PlaygroundAct::Look { since: None }).t_ms, 2_000);
}

#[test]
fn a_step_without_anything_to_come_says_so() {
    let mut window = Window::new(by_hand(&[lane(LaneStrategy::Plain, None)]));
    assert_eq!(
        window.act(PlaygroundAct::Step).note.as_deref(),
        Some("Nothing happens by itself now. Press Space to add.")
    );
    window.add();
    window.work(None, WorkerMove::PickUp);
    window.act(PlaygroundAct::Pause);
    let view = window.act(PlaygroundAct::Step);
    assert!(view.note.is_some() && view.clock == PlayClock::Paused, "{view:?}");
}

#[test]
fn a_run_goes_on_by_hand_after_the_script() {
    let mut window = Window::new(shipped().remove(0));
    window.act(PlaygroundAct::Run);
    assert_eq!(window.wait(4_000).clock, PlayClock::Done);
    let view = window.add();
    assert_eq!((view.clock, run(&view).newest_v), (PlayClock::Running, 2));
    assert_eq!(window.wait(500).t_ms, 4_000);
    let view = window.wait(10_000);
    assert_eq!(view.clock, PlayClock::Paused);
    assert_eq!(run(&view).lanes[1].figures.runs, 2);
}

#[test]
fn what_was_done_by_hand_can_be_played_again() {
    let mut window = Window::new(by_hand(&[lane(LaneStrategy::Plain, None), lane(LaneStrategy::Replace, None)]));
    window.add();
    window.wait(300);
    window.work(Some(1), WorkerMove::PickUp);
    window.wait(200);
    let view = window.add();
    let script = run(&view).played.clone();
    assert_eq!(script.iter().map(|step| step.at_ms).collect::<Vec<_>>(), [0, 300, 500]);
    let scenario = Scenario { script, length_ms: 500, ..run(&view).scenario.clone() };
    let mut again = Window::new(scenario);
    again.act(PlaygroundAct::Run);
    let repeated = again.wait(600);
    assert_eq!(run(&repeated).lanes, run(&view).lanes);
}

#[test]
fn a_look_gives_the_content_only_when_it_is_new() {
    let mut window = Window::new(by_hand(&[lane(LaneStrategy::Plain, None)]));
    let first = window.add();
    window.at += 100 * MS;
    let same = window.act(PlaygroundAct::Look { since: Some(first.revision) });
    assert_eq!((same.t_ms, same.run.is_none()), (100, true));
    window.add();
    assert!(window.act(PlaygroundAct::Look { since: Some(first.revision) }).run.is_some());
}

#[test]
fn a_run_is_bounded() {
    let lanes =
        [lane(LaneStrategy::None, None), lane(LaneStrategy::Replace, None), lane(LaneStrategy::Extend, Some(5_000))];
    let mut window = Window::new(by_hand(&lanes));
    for _ in 0..ADDS_MAX {
        window.add();
    }
    let text = window.refused(PlaygroundAct::Add { v: None, key: None, queue: None });
    assert_eq!(text, "This run has 200 adds, the most that are kept. Reset to go on.");
    for _ in 0..320 {
        window.at += Duration::from_secs(2);
        window.act(PlaygroundAct::Look { since: None });
    }
    let view = window.act(PlaygroundAct::Look { since: None });
    assert_eq!((view.t_ms, view.clock), (600_000, PlayClock::Done));
    assert!(view.note.as_deref().unwrap().starts_with("A run ends after 10 minutes."));
    assert!(run(&view).lines.len() <= LINES_MAX && run(&view).lines_dropped > 0);
}

#[test]
fn windows_do_not_meet_and_the_oldest_makes_room() {
    let (all, at) = (Playgrounds::default(), Instant::now());
    let look = || PlaygroundAct::Look { since: None };
    let add = || PlaygroundAct::Add { v: None, key: None, queue: None };
    let newest = |name: &str, act, at| run(&all.act(name, act, at).unwrap()).newest_v;
    for number in 0..SESSIONS_MAX {
        newest(&number.to_string(), add(), at + u32::try_from(number).unwrap() * MS);
    }
    assert_eq!(newest("0", look(), at + 20 * MS), 1);
    assert_eq!(newest("new", look(), at + 21 * MS), 0);
    assert_eq!(newest("0", look(), at + 22 * MS), 1);
    assert_eq!(newest("1", look(), at + 23 * MS), 0, "the one looked at longest ago has ended");
    assert_eq!(newest("0", look(), at + SESSION_IDLE_MAX + 30 * MS), 0, "and so has everything that was idle");
}

#[test]
fn bad_requests_name_the_field() {
    let mut window = Window::new(shipped().remove(0));
    let mut bad = shipped().remove(0);
    bad.lanes.clear();
    assert_eq!(window.refused(PlaygroundAct::Load { scenario: bad }), "scenario.lanes: must be 1 to 3");
    let add = |v, key: &str, queue: &str| PlaygroundAct::Add { v, key: Some(key.into()), queue: Some(queue.into()) };
    assert_eq!(window.refused(add(Some(0), "k", "q")), "v: must be 1 to 4294967295");
    assert_eq!(window.refused(add(None, "", "q")), "key: must not be empty");
    assert_eq!(window.refused(add(None, "k", "a b")), "queue: Queue name contains invalid characters");
    let work = PlaygroundAct::Work { lane: Some(2), what: WorkerMove::PickUp };
    assert_eq!(window.refused(work), "lane: must be 0 to 1");
    let worker = WorkerSpec { auto: true, duration_ms: 5, fail_every: 0, lease_ms: 5_000 };
    assert_eq!(window.refused(PlaygroundAct::SetWorker { worker }), "worker.durationMs: must be 10 to 600000");
    let big = PlaygroundAct::Open { text: " ".repeat(300_000) };
    assert_eq!(window.refused(big), "Not a scenario: the file has more than 256 KiB.");
    for name in ["", &"x".repeat(65)] {
        assert!(window.all.act(name, PlaygroundAct::Run, window.at).unwrap_err().message.starts_with("session: "));
    }
}
