//! The bucket against what is expected of it: never more than its capacity, the rate kept, the next moment exact.

use super::{Bucket, Rate};
use crate::time::{Millis, Timestamp};

const NOW: Timestamp = Timestamp(1_700_000_000_000);

fn rate(max: u64, duration: i64) -> Rate {
    Rate { max, duration: Millis(duration) }
}

#[test]
fn full_when_made_and_never_fuller() {
    let bucket = Bucket::new(rate(3, 1_000), NOW, 0);
    assert_eq!(bucket.tokens(NOW), 3);
    assert_eq!(bucket.tokens(NOW.plus(Millis(1_000_000))), 3);
    assert_eq!(Bucket::new(rate(3, 1_000), NOW, 7).tokens(NOW), 0);
}

#[test]
fn the_next_token_is_there_at_its_moment_and_not_a_millisecond_before() {
    for (max, duration) in
        [(1, 1_000), (2, 1_000), (3, 1_000), (7, 1_000), (1_000, 1), (999, 60_000), (1, 31_536_000_000)]
    {
        let mut bucket = Bucket::new(rate(max, duration), NOW, 0);
        let mut now = NOW;
        for _ in 0..3 * max.min(50) {
            while bucket.tokens(now) > 0 {
                bucket.take(now);
            }
            let next = bucket.next_at().expect("it comes back");
            assert!(next > now, "an empty bucket has its next token later");
            assert_eq!(bucket.tokens(Timestamp(next.0 - 1)), 0, "{max} per {duration}");
            assert!(bucket.tokens(next) > 0, "{max} per {duration}");
            now = next;
        }
    }
}

#[test]
fn over_a_long_time_the_rate_is_exact() {
    let (max, duration) = (7, 1_000);
    let mut bucket = Bucket::new(rate(max, duration), NOW, max);
    let (mut now, mut taken) = (NOW, 0);
    while now < NOW.plus(Millis(60_000)) {
        now = bucket.next_at().expect("it comes back");
        bucket.take(now);
        taken += 1;
    }
    assert_eq!((taken, now), (7 * 60, NOW.plus(Millis(60_000))));
}

#[test]
fn an_empty_bucket_owes_nothing() {
    let mut bucket = Bucket::new(rate(2, 1_000), NOW, 2);
    bucket.take(NOW);
    bucket.take(NOW);
    assert_eq!(bucket.next_at(), Some(NOW.plus(Millis(500))));
}

#[test]
fn a_rate_of_nothing_gives_nothing() {
    let mut bucket = Bucket::new(rate(0, 1_000), NOW, 0);
    bucket.take(NOW);
    assert_eq!((bucket.tokens(NOW.plus(Millis(1_000_000))), bucket.next_at()), (0, None));
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    let most = 9_007_199_254_740_991;
    let mut bucket = Bucket::new(rate(most as u64, most), NOW, 0);
    bucket.take(NOW);
    assert_eq!(bucket.tokens(NOW), most as u64 - 1);
    let empty = Bucket::new(rate(1, i64::MAX), Timestamp(i64::MAX), 1);
    assert_eq!(empty.next_at(), Some(Timestamp(i64::MAX)));
}
