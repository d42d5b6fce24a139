//! A draft that is sent unchanged asks for what was asked before.

use super::*;
use crate::send;
use onceover_engine::calendar::{Pattern, Zone};
use onceover_engine::command::{Group, NewJob};
use onceover_engine::time::Timestamp;
use std::sync::Arc;

/// Numbers without a pattern, the same in every run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn flip(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Dice) -> T) -> Option<T> {
        if self.flip() { Some(value(self)) } else { None }
    }

    fn millis(&mut self) -> Millis {
        Millis(self.below(86_400_000) as i64)
    }

    fn ids(&mut self) -> Vec<JobId> {
        (0..self.below(3)).map(|at| JobId::parse(&format!("job-{at}"))).collect()
    }
}

fn backoff_of(dice: &mut Dice) -> Backoff {
    let delay = dice.millis();
    if dice.flip() {
        Backoff { delay, ..Backoff::default() }
    } else {
        Backoff { delay, fixed: dice.flip(), as_object: true }
    }
}

fn rare_of(dice: &mut Dice) -> RareOptions {
    let mut rare = RareOptions {
        tags: (0..dice.below(3)).map(|at| format!("tag \u{e9} {at}")).collect(),
        timeout: dice.maybe(Dice::millis),
        ttl: dice.maybe(Dice::millis),
        stall_timeout: dice.maybe(Dice::millis),
        timestamp: dice.maybe(|dice| Timestamp(dice.below(1 << 50) as i64 - (1 << 49))),
        stack_trace_limit: dice.maybe(|dice| dice.below(100) as u32),
        keep_logs: dice.maybe(|dice| dice.below(100) as f64 / 4.0),
        size_limit: dice.maybe(|dice| dice.below(1 << 40) as f64),
        debounce_id: dice.maybe(|_| "d".to_owned()),
        debounce_ttl: dice.maybe(|dice| dice.below(9_000) as f64),
        fail_parent_on_failure: dice.flip(),
        remove_dependency_on_failure: dice.flip(),
        continue_parent_on_failure: dice.flip(),
        ignore_dependency_on_failure: dice.flip(),
        group: dice.maybe(|dice| Group { id: Arc::from("lane"), max_size: dice.maybe(|dice| dice.below(50) + 1) }),
        ..RareOptions::default()
    };
    if dice.flip() {
        let timing = match dice.maybe(|dice| dice.maybe(|_| Zone::parse("Europe/Berlin").unwrap())) {
            Some(zone) => Timing::Calendar(Pattern::parse("*/5 2 * * mon", zone).unwrap()),
            None => Timing::Every(Millis(1 + dice.below(10_000) as i64)),
        };
        rare.repeat = Some(Repeat {
            timing,
            limit: dice.maybe(|dice| dice.below(9)),
            count: dice.below(3),
            start: dice.maybe(|dice| Timestamp(dice.below(9_000) as i64)),
            end: dice.maybe(|dice| Timestamp(dice.below(9_000) as i64)),
            offset: Millis(dice.below(50) as i64 - 25),
            job_id: dice.maybe(|_| "nightly".into()),
        });
    } else {
        rare.depends_on = dice.ids();
        rare.parent_id = dice.maybe(|_| JobId::parse("0192f0c1-1111-7222-8333-444400a1b2c3"));
        rare.children_ids = dice.ids();
    }
    rare
}

/// Any add that a client can ask for.
fn add_of(dice: &mut Dice, data: &[u8]) -> Add {
    let rare = dice.maybe(rare_of).filter(|rare| *rare != RareOptions::default());
    let grouped = rare.as_ref().is_some_and(|rare| rare.group.is_some());
    let repeats = rare.as_ref().is_some_and(|rare| rare.repeat.is_some());
    let dedup = dice.maybe(|dice| DedupRequest {
        from_hash: dice.flip(),
        ttl: dice.maybe(|dice| Millis(dice.below(1 << 45) as i64)),
        extend: dice.flip(),
        replace: dice.flip(),
        keep_last: dice.flip(),
    });
    let hash = || onceover_wire::canonical::canonical_hash(data).unwrap();
    let dedup_key =
        dedup.as_ref().map(|dedup| if dedup.from_hash { Arc::from(hash()) } else { Arc::from("a key, \"quoted\"") });
    let custom_id = dice.maybe(|_| JobId::parse("order-1")).filter(|_| !repeats);
    let spec = NewJob {
        queue: Arc::from("a-queue.1"),
        name: Arc::from("name \u{1f600}"),
        dedup: dedup.unwrap_or_default(),
        priority: dice.below(2_000_000) as i32 - if grouped { 0 } else { 1_000_000 },
        delay: dice.maybe(Dice::millis).unwrap_or_default(),
        max_attempts: 1 + dice.below(1_000) as u32,
        backoff: dice.maybe(backoff_of).unwrap_or_default(),
        lifo: dice.flip(),
        remove_on_complete: dice.flip(),
        remove_on_fail: dice.flip(),
        durable: dice.flip(),
        rare: rare.map(Box::new),
    };
    Add { spec: Arc::new(spec), custom_id, dedup_key, data: Some(Arc::from(data)) }
}

#[test]
fn every_combination_of_options_survives_the_form() {
    let data: &[u8] = &[0x81, 0xa1, b'n', 0xcf, 0, 0x20, 0, 0, 0, 0, 0, 1];
    for seed in 0..20_000 {
        let add = add_of(&mut Dice(seed), data);
        let again = send::add(&options(&add), Some(data));
        assert_eq!(again, Ok(add), "seed {seed}");
    }
}
