//! What workers send: taking jobs, finishing them, keeping them, registering.

use crate::group::GroupWants;
use crate::names::JobId;
use crate::new_job::Payload;
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

/// PULL and PULLB.
#[derive(Clone, Debug, PartialEq)]
pub struct Pull {
    /// The queue to take from.
    pub queue: Arc<str>,
    /// At most this many; 1 for PULL, 1 to 1000 for PULLB.
    pub count: u32,
    /// Whether the answer has PULLB's shape.
    pub bulk: bool,
    /// How long to park when nothing is there, 0 to 60,000 ms.
    pub timeout: Millis,
    /// Takes a lock in this name; none = no lock.
    pub owner: Option<Arc<str>>,
    /// The lock's time to live.
    pub lock_ttl: Millis,
    /// Without an owner: stays active when its connection ends.
    pub detach: bool,
    /// What it says about groups; none = any job, and no limits.
    pub group: Option<Arc<GroupWants>>,
}

/// ACK, and one entry of ACKB.
#[derive(Clone, Debug, PartialEq)]
pub struct Ack {
    /// The job.
    pub id: JobId,
    /// The delivery's token, when it was locked.
    pub token: Option<String>,
    /// The result; none = completed without one.
    pub result: Option<Payload>,
    /// Forget the job, whatever its own option says.
    pub remove: bool,
}

/// FAIL.
#[derive(Clone, Debug, PartialEq)]
pub struct Fail {
    /// The job.
    pub id: JobId,
    /// The delivery's token, when it was locked.
    pub token: Option<String>,
    /// The message, as text.
    pub error: Option<String>,
    /// No further attempt.
    pub unrecoverable: bool,
    /// Stack lines: trimmed, non-empty, at most 100.
    pub stack: Vec<String>,
    /// Forget the job if this failure is final.
    pub remove: bool,
}

/// A job named together with the token that proves the right to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The job.
    pub id: JobId,
    /// The delivery's token, when it was locked.
    pub token: Option<String>,
}

/// JobHeartbeat, ExtendLock and their bulk forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Renewal {
    /// Whose lock.
    pub claim: Claim,
    /// For this renewal; none = the lock's own time to live.
    pub duration: Option<Millis>,
}

/// RegisterWorker (protocol-admin.md 9).
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerInfo {
    /// The worker's own id, when it has one.
    pub worker_id: Option<String>,
    /// Its name.
    pub name: String,
    /// The queues it serves.
    pub queues: Vec<Arc<str>>,
    /// Jobs at once.
    pub concurrency: u32,
    /// Its machine.
    pub hostname: String,
    /// Its process.
    pub pid: u64,
    /// When it says it started.
    pub started_at: Option<Timestamp>,
}

/// At most so many bytes of a text, cut between two characters and marked as cut.
pub(crate) fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        let mark = "…";
        text.truncate(text.floor_char_boundary(bytes_max - mark.len()));
        text.push_str(mark);
        text.shrink_to_fit();
    }
    text
}

#[cfg(test)]
mod work_tests {
    use super::cut;

    #[test]
    fn a_text_is_cut_between_two_characters() {
        assert_eq!(cut("12345".to_owned(), 5), "12345");
        assert_eq!(cut("123456".to_owned(), 5), "12…");
        assert_eq!(cut("1ä3456".to_owned(), 5), "1…");
    }
}
