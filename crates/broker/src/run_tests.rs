//! Runs: what they count, how they end, and that only one goes on at a time.

use super::*;

fn plan(times: u32, gap: Duration) -> RunPlan {
    RunPlan { command: Vec::new(), times, gap, connections: 2, origin: Some(812) }
}

#[test]
fn one_run_at_a_time_and_numbers_ascend() {
    let runs = Runs::default();
    let first = runs.begin(&plan(1, Duration::ZERO)).unwrap();
    assert_eq!(runs.begin(&plan(1, Duration::ZERO)).err(), Some(RunRefused::Busy(1)));
    first.answered(RunAnswer::Created);
    first.tally().took = Some(Duration::from_millis(1));
    assert_eq!(runs.figures().unwrap().state, RunState::Done);
    assert_eq!(runs.begin(&plan(1, Duration::ZERO)).unwrap().mark, RunMark { run: 2, origin: Some(812) });
    assert!(!runs.stop(1), "it has ended");
}

#[tokio::test(start_paused = true)]
async fn turns_keep_the_pace_and_end_at_a_stop() {
    let runs = Runs::default();
    let run = runs.begin(&plan(3, Duration::from_secs(10))).unwrap();
    assert!(run.turn().await);
    let waiting = tokio::spawn({
        let run = Arc::clone(&run);
        async move { run.turn().await }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!waiting.is_finished(), "its turn comes after ten seconds");
    assert!(runs.stop(1));
    assert!(!waiting.await.unwrap(), "a stop does not wait for the next turn");
    run.tally().took = Some(Duration::from_secs(5));
    assert_eq!(runs.figures().unwrap().state, RunState::Stopped);
}

#[test]
fn figures_are_counted_by_answer() {
    let runs = Runs::default();
    let run = runs.begin(&plan(5, Duration::ZERO)).unwrap();
    let rejected = || RunAnswer::Rejected("no".to_owned());
    for answer in [RunAnswer::Created, RunAnswer::Returned, RunAnswer::Returned, RunAnswer::Replaced, rejected()] {
        run.answered(answer);
    }
    let figures = runs.figures().unwrap();
    assert_eq!((figures.created, figures.returned, figures.replaced, figures.rejected), (1, 2, 1, 1));
    assert_eq!((figures.answered(), figures.error.as_deref(), figures.state), (5, Some("no"), RunState::Going));
}

#[test]
fn a_connection_is_known_by_its_end_in_either_family() {
    let runs = Runs::default();
    let mark = RunMark { run: 1, origin: None };
    runs.is_ours("127.0.0.1:5000".parse().unwrap(), mark);
    assert_eq!(runs.mark_of("[::ffff:127.0.0.1]:5000".parse().unwrap()), Some(mark));
    assert_eq!(runs.mark_of("127.0.0.1:5001".parse().unwrap()), None);
    runs.is_gone("127.0.0.1:5000".parse().unwrap());
    assert_eq!(runs.mark_of("127.0.0.1:5000".parse().unwrap()), None);
}
