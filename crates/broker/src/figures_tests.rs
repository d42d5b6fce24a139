//! Classes of durations, and totals that outlive the engine.

use super::*;

#[test]
fn a_share_did_not_pass_the_end_of_its_class() {
    let mut durations = Durations::default();
    assert_eq!((durations.percentile_ms(0.99), durations.mean_ms()), (0.0, 0.0));
    durations.add(Duration::from_micros(100), 98);
    durations.add(Duration::from_millis(3), 1);
    durations.add(Duration::from_secs(60), 1);
    assert_eq!(durations.count(), 100);
    assert_eq!(durations.percentile_ms(0.5), 0.1);
    assert_eq!(durations.percentile_ms(0.99), 5.0);
    assert_eq!(durations.percentile_ms(1.0), 5_000.0);
    assert!((durations.mean_ms() - 600.128).abs() < 1e-9);
}

#[test]
fn totals_go_on_when_the_engine_is_read_anew() {
    let mut figures = Figures::default();
    let totals = |pushed| Totals { pushed, ..Totals::default() };
    figures.turned(Timestamp(1_000), totals(5), &[]);
    figures.engine_is_new();
    figures.turned(Timestamp(1_500), totals(2), &[]);
    assert_eq!(figures.totals.pushed, 7);
    assert_eq!(figures.pushed.per_second(Timestamp(2_000)), 1.4);
}
