//! Some hundred worlds, always the same ones. `onceover-sim --minutes N` runs more of them.

/// Enough to meet every kind of crash many times, in a few seconds.
const WORLDS: u64 = 300;

#[test]
fn worlds_with_crashes_and_failing_commits_keep_their_word() {
    let tally =
        (1..=WORLDS).map(|seed| onceover_sim::run(seed, 400)).fold(Default::default(), onceover_sim::Tally::plus);
    // A world in which nothing happens would prove nothing.
    assert!(tally.crashes > 500 && tally.power_cuts > 150 && tally.failed_commits > 500, "{tally:?}");
    assert!(tally.trees > 400 && tally.firings > 2_000 && tally.throttled > 15_000, "{tally:?}");
    assert!(tally.left > 1_000, "{tally:?}");
    assert!(tally.deliveries > 20_000 && tally.repeats_checked > 1_000 && tally.completions > 2_000, "{tally:?}");
}

#[test]
fn a_seed_replays_exactly() {
    for seed in [3, 77, 1234] {
        let [once, twice] = [(); 2].map(|()| format!("{:?}", onceover_sim::run(seed, 400)));
        assert_eq!(once, twice);
    }
}
