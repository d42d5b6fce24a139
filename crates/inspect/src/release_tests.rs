//! The preview of a release, for every state of the owner.

use super::*;
use crate::testing::{NOW, entry};

#[test]
fn the_text_says_what_becomes_of_the_owner_and_of_the_next_add() {
    let table = [
        (
            Some(StateName::Waiting),
            "Owner …a1b2c3 stays waiting. The next add of `k` creates a second job, and both will run.",
        ),
        (
            Some(StateName::Prioritized),
            "Owner …a1b2c3 stays prioritized. The next add of `k` creates a second job, and both will run.",
        ),
        (
            Some(StateName::Delayed),
            "Owner …a1b2c3 stays delayed. The next add of `k` creates a second job, which may run before it.",
        ),
        (
            Some(StateName::WaitingChildren),
            "Owner …a1b2c3 stays and waits for its children. The next add of `k` creates a second job, which may run before it.",
        ),
        (
            Some(StateName::Active),
            "Owner …a1b2c3 stays active on `mailer-1`. The next add of `k` creates a second job, and both may run at the same time.",
        ),
        (
            Some(StateName::Completed),
            "Owner …a1b2c3 has completed. The next add of `k` creates a new job at once instead of after 41 s.",
        ),
        (
            Some(StateName::Failed),
            "Owner …a1b2c3 has failed for good. The next add of `k` creates a new job at once instead of after 41 s.",
        ),
        (None, "Owner …a1b2c3 is gone. The next add of `k` creates a new job at once instead of after 41 s."),
    ];
    for (state, text) in table {
        assert_eq!(consequence(&entry(Some(41_000)), state, Some("mailer-1"), NOW), text);
    }
}
