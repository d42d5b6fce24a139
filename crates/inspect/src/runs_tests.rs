//! The sentence of a run.

use super::*;
use onceover_broker::run::RunMark;

#[test]
fn what_came_of_it_in_words() {
    let figures = RunFigures {
        mark: RunMark { run: 3, origin: Some(812) },
        times: 1_000,
        connections: 16,
        created: 1,
        replaced: 0,
        returned: 999,
        rejected: 0,
        took: Duration::from_millis(412),
        state: RunState::Done,
        error: None,
    };
    let with = |change: fn(&mut RunFigures)| {
        let mut figures = figures.clone();
        change(&mut figures);
        progress(&figures).sentence
    };
    assert_eq!(with(|_| {}), "1,000 adds: 1 created, 999 returned, 0 rejected in 412 ms.");
    let stopped = with(|figures| {
        figures.state = RunState::Stopped;
        (figures.returned, figures.replaced) = (9, 2);
    });
    assert_eq!(stopped, "Stopped after 12 of 1,000 adds: 1 created, 2 replaced, 9 returned, 0 rejected in 412 ms.");
    let going = with(|figures| (figures.state, figures.returned) = (RunState::Going, 4));
    assert_eq!(going, "5 of 1,000 adds: 1 created, 4 returned, 0 rejected.");
    let one = with(|figures| (figures.times, figures.returned) = (1, 0));
    assert_eq!(one, "1 add: 1 created, 0 returned, 0 rejected in 412 ms.");
}
