//! Every combination of `decide` against the table of dedup.md 3 and 10, written out by hand below.

use super::*;

const NOW: Timestamp = Timestamp(1_000_000);

/// dedup.md 3, row by row. Columns: default, extend, replace, keepLastIfActive, keepLastIfActive with replace.
/// A live job depends on the owner (or the newcomer does) in the rows marked `tied`.
const TABLE: &[(&str, [&str; 5])] = &[
    ("free", ["add", "add", "add", "add", "add"]),
    ("free tied", ["add", "add", "add", "add", "add"]),
    ("pending", ["owner", "owner, window", "replace", "owner", "replace"]),
    ("pending tied", ["owner", "owner, window", "reject", "owner", "reject"]),
    ("active", ["owner", "reject, window", "take over", "keep", "keep"]),
    ("active tied", ["owner", "reject, window", "reject", "keep", "keep"]),
    ("ended", ["owner", "reject, window", "take from ended", "owner", "take from ended"]),
    ("ended tied", ["owner", "reject, window", "take from ended", "owner", "take from ended"]),
];

fn request(ttl: Option<i64>, extend: bool, replace: bool, keep_last: bool) -> DedupRequest {
    DedupRequest { from_hash: false, ttl: ttl.map(Millis), extend, replace, keep_last }
}

/// dedup.md 3: replace wins over extend; extend needs a ttl greater than 0; keepLastIfActive beats replace for an active owner.
fn column(ttl: Option<i64>, extend: bool, replace: bool, keep_last: bool) -> usize {
    match (keep_last, replace, extend, ttl) {
        (true, true, _, _) => 4,
        (true, false, _, _) => 3,
        (false, true, _, _) => 2,
        (false, false, true, Some(1..)) => 1,
        (false, false, _, _) => 0,
    }
}

fn words(decision: DedupDecision, ttl: Option<i64>) -> &'static str {
    let until = NOW.plus(Millis(ttl.unwrap_or(0)));
    match decision {
        DedupDecision::Admit => "add",
        DedupDecision::ReturnOwner => "owner",
        DedupDecision::ExtendOwner { until: end } if end == until => "owner, window",
        DedupDecision::RefuseButExtend { until: end } if end == until => "reject, window",
        DedupDecision::ExtendOwner { .. } | DedupDecision::RefuseButExtend { .. } => "a wrong window",
        DedupDecision::ReplaceOwner => "replace",
        DedupDecision::SucceedActive => "take over",
        DedupDecision::SucceedEnded => "take from ended",
        DedupDecision::KeepForLater => "keep",
        DedupDecision::RefuseDependants => "reject",
    }
}

#[test]
fn decides_every_combination_as_the_table_says() {
    let owners = [
        ("free", None),
        ("pending", Some(OwnerStanding::Pending)),
        ("active", Some(OwnerStanding::Active)),
        ("ended", Some(OwnerStanding::Ended)),
    ];
    let flags = [false, true];
    let mut seen = 0;
    for (name, owner) in owners {
        for tied in flags {
            let row_name = if tied { format!("{name} tied") } else { name.to_owned() };
            let row = TABLE.iter().find(|(row, _)| *row == row_name).expect("every owner has its row");
            for ttl in [None, Some(0), Some(1), Some(60_000)] {
                for extend in flags {
                    for replace in flags {
                        for keep_last in flags {
                            let asked = request(ttl, extend, replace, keep_last);
                            let decided = decide(owner, DedupPolicy::of(&asked), tied, NOW);
                            let wanted = row.1[column(ttl, extend, replace, keep_last)];
                            assert_eq!(words(decided, ttl), wanted, "{row_name} with {asked:?}");
                            seen += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(seen, 4 * 2 * 4 * 8);
}
