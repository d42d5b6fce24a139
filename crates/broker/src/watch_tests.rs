//! Change hints in virtual time.

use super::*;
use std::time::Duration;
use tokio::time::Instant;

/// Starts the hint task in virtual time.
fn start() -> (Arc<Hints>, watch::Receiver<u64>) {
    let hints = Arc::new(Hints::default());
    let (sender, receiver) = watch::channel(0);
    tokio::spawn(pass_on(Arc::clone(&hints), sender));
    (hints, receiver)
}

async fn next(receiver: &mut watch::Receiver<u64>) -> (u64, Duration) {
    let asked = Instant::now();
    receiver.changed().await.expect("the task runs");
    (*receiver.borrow_and_update(), asked.elapsed())
}

#[tokio::test(start_paused = true)]
async fn the_first_change_is_told_at_once_and_the_following_together() {
    let (hints, mut receiver) = start();
    hints.changed(1);
    assert_eq!(next(&mut receiver).await, (1, Duration::ZERO));
    for revision in 2..=50 {
        hints.changed(revision);
    }
    let (revision, waited) = next(&mut receiver).await;
    assert_eq!(revision, 50);
    assert!(waited >= HINT_EVERY && waited < 2 * HINT_EVERY, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn counters_alone_are_told_once_a_second() {
    let (hints, mut receiver) = start();
    hints.counted(1);
    let (revision, waited) = next(&mut receiver).await;
    assert_eq!(revision, 1);
    assert!(waited >= QUIET_HINT_AFTER, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_does_not_wait_for_counters() {
    let (hints, mut receiver) = start();
    hints.counted(1);
    tokio::task::yield_now().await;
    hints.changed(2);
    let (revision, waited) = next(&mut receiver).await;
    assert_eq!(revision, 2);
    assert!(waited < HINT_EVERY, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn the_same_revision_is_not_told_twice() {
    let (hints, mut receiver) = start();
    hints.changed(1);
    next(&mut receiver).await;
    hints.changed(1);
    assert!(timeout(Duration::from_secs(5), receiver.changed()).await.is_err());
}
