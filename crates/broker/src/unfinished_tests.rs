//! The budget of unfinished frames, in virtual time where it matters.

use super::*;
use crate::outbox::Line;
use tokio::time::sleep;

const SOON: Duration = Duration::from_millis(20);

fn share(all: &Arc<Unfinished>) -> (Share, Arc<Fill>) {
    let (_line, end) = Line::new();
    (Share::new(Arc::clone(all), Arc::clone(&end.fill)), end.fill)
}

#[tokio::test]
async fn what_one_read_brings_is_free_and_a_long_frame_is_counted_in_steps() {
    let all = Arc::new(Unfinished::default());
    let (mut share, _fill) = share(&all);
    share.cover(READ_BYTES).await;
    assert_eq!(all.bytes(), 0);
    share.cover(READ_BYTES + 1).await;
    assert_eq!(all.bytes(), UNFINISHED_STEP_BYTES);
    share.cover(UNFINISHED_STEP_BYTES).await;
    assert_eq!(all.bytes(), 2 * UNFINISHED_STEP_BYTES);
    share.cover(0).await;
    assert_eq!(all.bytes(), 0, "the frame has been taken out");
    share.cover(UNFINISHED_STEP_BYTES).await;
    drop(share);
    assert_eq!(all.bytes(), 0);
}

#[tokio::test]
async fn a_full_budget_lets_nobody_grow_until_something_is_given_back() {
    let all = Arc::new(Unfinished::default());
    let ((mut large, _a), (mut small, _b)) = (share(&all), share(&all));
    large.cover(UNFINISHED_BYTES_MAX - READ_BYTES).await;
    assert_eq!(all.bytes(), UNFINISHED_BYTES_MAX);
    assert!(timeout(SOON, small.cover(READ_BYTES + 1)).await.is_err(), "one step too many was given");
    let waits = tokio::spawn(async move {
        small.cover(READ_BYTES + 1).await;
        small
    });
    sleep(SOON).await;
    large.give_back();
    let small = timeout(Duration::from_secs(5), waits).await.expect("it is told at once").expect("it does not panic");
    assert_eq!(all.bytes(), small.bytes);
}

#[tokio::test]
async fn the_oldest_frame_that_had_its_time_is_given_up_and_only_while_its_client_is_waited_for() {
    let all = Arc::new(Unfinished::default());
    let ((mut complete, a), (mut oldest, b), (mut newer, c)) = (share(&all), share(&all), share(&all));
    complete.cover(READ_BYTES + 1).await;
    complete.complete();
    oldest.cover(READ_BYTES + 1).await;
    newer.cover(UNFINISHED_BYTES_MAX - 2 * UNFINISHED_STEP_BYTES - READ_BYTES).await;
    let (mut more, _fill) = share(&all);
    let waits = tokio::spawn(async move { more.cover(READ_BYTES + 1).await });
    assert!(timeout(UNFINISHED_PATIENCE / 2, b.cut()).await.is_err(), "it has not had its time");
    assert_eq!(timeout(UNFINISHED_PATIENCE, b.cut()).await, Ok(Cut::Unfinished));
    drop(oldest);
    timeout(Duration::from_secs(5), waits).await.expect("there is room now").expect("it does not panic");
    for fill in [a, c] {
        assert!(timeout(SOON, fill.cut()).await.is_err(), "one was enough");
    }
}
