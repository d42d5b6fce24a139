//! The small words of sentences: ids, durations, states, numbers. Same rules as the front end's cells, so that a sentence
//! and the cell beside it read alike. Nothing here knows the broker.

use crate::view::{Chip, Decision, JobState, Strategy};
use onceover_engine::command::{DedupRequest, StateName};
use onceover_engine::dedup::{DecisionCode, FreedBy, Outcome};
use onceover_engine::names::JobId;
use onceover_engine::time::Millis;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A generated id by its last six characters, a custom one in full and marked as code.
pub fn short_id(id: &JobId) -> String {
    match id {
        JobId::Uuid(_) => {
            let text = id.to_string();
            format!("…{}", &text[text.len() - 6..])
        }
        JobId::Text(text) => code(text),
    }
}

/// Text of a user as code. Control and direction characters show as their symbol, so that they cannot change the sentence.
pub fn code(text: &str) -> String {
    format!("`{}`", visible(text))
}

/// Control and direction characters as symbols.
pub fn visible(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + character as u32).unwrap_or('\u{fffd}'),
            '\u{7f}' => '\u{2421}',
            '\u{80}'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => '\u{fffd}',
            other => other,
        })
        .collect()
}

/// `0.4 s`, `41 s`, `3 m 08 s`, `2 h 05 m`, `5 d 4 h`; nothing negative.
pub fn duration(millis: Millis) -> String {
    let ms = millis.0.max(0);
    if ms < 10 * SECOND {
        format!("{}.{} s", ms / SECOND, ms % SECOND / 100)
    } else if ms < MINUTE {
        format!("{} s", ms / SECOND)
    } else if ms < HOUR {
        format!("{} m {:02} s", ms / MINUTE, ms % MINUTE / SECOND)
    } else if ms < DAY {
        format!("{} h {:02} m", ms / HOUR, ms % HOUR / MINUTE)
    } else {
        format!("{} d {} h", ms / DAY, ms % DAY / HOUR)
    }
}

/// Time left, rounded up to whole seconds: it never reads 0 while it runs.
pub fn left(millis: Millis) -> String {
    let seconds = millis.0.max(1).saturating_add(SECOND - 1) / SECOND;
    if seconds < 60 { format!("{seconds} s") } else { duration(Millis(seconds.saturating_mul(SECOND))) }
}

/// `just now`, `2 s ago`.
pub fn ago(millis: Millis) -> String {
    match millis.0 {
        ..SECOND => "just now".to_owned(),
        ms if ms < MINUTE => format!("{} s ago", ms / SECOND),
        _ => format!("{} ago", duration(millis)),
    }
}

/// A setting as people write it: `500 ms`, `60 s`, `10 min`, `1 h`.
pub fn span(millis: Millis) -> String {
    let ms = millis.0;
    if ms % SECOND != 0 {
        format!("{} ms", count(ms.unsigned_abs()))
    } else if ms <= MINUTE {
        format!("{} s", ms / SECOND)
    } else if ms % HOUR == 0 {
        format!("{} h", ms / HOUR)
    } else if ms % MINUTE == 0 {
        format!("{} min", ms / MINUTE)
    } else {
        duration(millis)
    }
}

/// Digits in groups of three.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 add`, `2 adds`.
pub fn plural(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A state in the protocol's word; none is an owner that does not exist any more.
pub fn state_word(state: Option<StateName>) -> &'static str {
    state.map_or("gone", StateName::as_str)
}

/// The same for views.
pub fn state_view(state: Option<StateName>) -> JobState {
    match state {
        None => JobState::Gone,
        Some(StateName::Waiting) => JobState::Waiting,
        Some(StateName::Prioritized) => JobState::Prioritized,
        Some(StateName::Delayed) => JobState::Delayed,
        Some(StateName::WaitingChildren) => JobState::WaitingChildren,
        Some(StateName::Active) => JobState::Active,
        Some(StateName::Completed) => JobState::Completed,
        Some(StateName::Failed) => JobState::Failed,
    }
}

/// The engine's state that a view's state names; none for `gone`.
pub fn state_name(state: JobState) -> Option<StateName> {
    match state {
        JobState::Gone => None,
        JobState::Waiting => Some(StateName::Waiting),
        JobState::Prioritized => Some(StateName::Prioritized),
        JobState::Delayed => Some(StateName::Delayed),
        JobState::WaitingChildren => Some(StateName::WaitingChildren),
        JobState::Active => Some(StateName::Active),
        JobState::Completed => Some(StateName::Completed),
        JobState::Failed => Some(StateName::Failed),
    }
}

/// How a key became free, to be put behind its last owner.
pub fn freed(by: FreedBy) -> &'static str {
    match by {
        FreedBy::Completed => "completed",
        FreedBy::FailedForGood => "failed for good",
        FreedBy::TimedOut => "timed out",
        FreedBy::Stalled => "stalled",
        FreedBy::Cancelled => "was cancelled",
        FreedBy::Discarded => "was discarded",
        FreedBy::Drained => "was drained",
        FreedBy::Cleaned => "was cleaned",
        FreedBy::Obliterated => "was obliterated with its queue",
        FreedBy::JobExpired => "ran out of its own ttl before it was taken",
        FreedBy::WindowEnded => "reached its TTL",
        FreedBy::ReleasedByClient => "was released by a client command",
        FreedBy::ReleasedByHand => "was released by hand",
    }
}

/// The engine's decision in the words of the views.
pub fn decision(code: DecisionCode) -> Decision {
    match code {
        DecisionCode::Created => Decision::Created,
        DecisionCode::CreatedFreed => Decision::CreatedFreed,
        DecisionCode::CreatedTwin => Decision::CreatedTwin,
        DecisionCode::ExistingKey => Decision::ExistingKey,
        DecisionCode::ExistingJobId => Decision::ExistingJobId,
        DecisionCode::ExistingElsewhere => Decision::ExistingElsewhere,
        DecisionCode::ExistingHash => Decision::ExistingHash,
        DecisionCode::Extended => Decision::Extended,
        DecisionCode::ExtendedNoTtl => Decision::ExtendedNoTtl,
        DecisionCode::Replaced => Decision::Replaced,
        DecisionCode::Moved => Decision::Moved,
        DecisionCode::NextHeld => Decision::NextHeld,
        DecisionCode::NextUpdated => Decision::NextUpdated,
        DecisionCode::RejectedExtend => Decision::RejectedExtend,
        DecisionCode::RejectedDependents => Decision::RejectedDependents,
        DecisionCode::RejectedInvalid => Decision::RejectedInvalid,
        DecisionCode::RejectedLimit => Decision::RejectedLimit,
        DecisionCode::RejectedStorage => Decision::RejectedStorage,
    }
}

/// Word and colour of a decision.
pub fn chip(decision: Decision) -> Chip {
    match decision {
        Decision::Created | Decision::CreatedFreed | Decision::CreatedTwin => Chip::Created,
        Decision::ExistingKey
        | Decision::ExistingJobId
        | Decision::ExistingElsewhere
        | Decision::ExistingHash
        | Decision::ExtendedNoTtl => Chip::Returned,
        Decision::Extended => Chip::Extended,
        Decision::Replaced | Decision::Superseded => Chip::Replaced,
        Decision::Moved => Chip::Moved,
        Decision::NextHeld | Decision::NextUpdated => Chip::Held,
        Decision::RejectedExtend
        | Decision::RejectedDependents
        | Decision::RejectedInvalid
        | Decision::RejectedLimit
        | Decision::RejectedStorage => Chip::Rejected,
    }
}

/// Word of a decision, as filters name it.
pub fn chip_word(chip: Chip) -> &'static str {
    match chip {
        Chip::Created => "created",
        Chip::Returned => "returned",
        Chip::Extended => "extended",
        Chip::Replaced => "replaced",
        Chip::Moved => "moved",
        Chip::Held => "held",
        Chip::Rejected => "rejected",
    }
}

/// The code of a decision, as filters name it.
pub fn decision_code(decision: Decision) -> &'static str {
    match decision {
        Decision::Created => "created",
        Decision::CreatedFreed => "created.freed",
        Decision::CreatedTwin => "created.twin",
        Decision::ExistingKey => "existing.key",
        Decision::ExistingJobId => "existing.job_id",
        Decision::ExistingElsewhere => "existing.elsewhere",
        Decision::ExistingHash => "existing.hash",
        Decision::Extended => "extended",
        Decision::ExtendedNoTtl => "extended.no_ttl",
        Decision::Replaced => "replaced",
        Decision::Moved => "moved",
        Decision::NextHeld => "next.held",
        Decision::NextUpdated => "next.updated",
        Decision::RejectedExtend => "rejected.extend",
        Decision::RejectedDependents => "rejected.dependents",
        Decision::RejectedInvalid => "rejected.invalid",
        Decision::RejectedLimit => "rejected.limit",
        Decision::RejectedStorage => "rejected.storage",
        Decision::Superseded => "superseded",
    }
}

/// Whether an add with this decision made no job because an earlier one stands for it.
pub fn is_collapsed(code: DecisionCode) -> bool {
    code.outcome() == Outcome::Collapsed
}

/// What a request asks of a held key. `extend` without a window asks nothing.
pub fn strategy(request: &DedupRequest) -> Strategy {
    use onceover_engine::dedup::DedupPolicy;
    match DedupPolicy::of(request) {
        DedupPolicy::Default => Strategy::Plain,
        DedupPolicy::Extend { .. } => Strategy::Extend,
        DedupPolicy::Replace => Strategy::Replace,
        DedupPolicy::KeepLast { .. } => Strategy::KeepLast,
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod words_tests;
