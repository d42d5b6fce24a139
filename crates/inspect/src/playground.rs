//! The playground: the same adds into lanes with different strategies, each lane a real engine of its own.
//!
//! Guarantees: nothing here touches a broker or its file, so it works without one; every window has its own run; what is
//! kept is bounded (`limits.rs`). Nothing runs between two questions: a look lets the time pass that has passed meanwhile.

mod lane;
mod limits;
mod record;
pub mod scenario;
mod session;
mod title;

use crate::request::PlaygroundAct;
use crate::view::{Failure, FailureCode, PlaygroundView, ScenariosView};
use limits::{FILE_BYTES_MAX, SESSION_IDLE_MAX, SESSION_NAME_MAX, SESSIONS_MAX};
use scenario::Scenario;
use session::Session;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The runs of all windows. Clones share them.
#[derive(Clone, Default)]
pub struct Playgrounds {
    sessions: Arc<Mutex<HashMap<String, Session>>>,
}

impl Playgrounds {
    /// Does something in a window's run and says how it stands. A run that is not known is made first.
    ///
    /// # Errors
    /// What was asked for makes no sense; the text names the field.
    pub fn act(&self, name: &str, act: PlaygroundAct, at: Instant) -> Result<PlaygroundView, Failure> {
        if name.is_empty() || name.len() > SESSION_NAME_MAX {
            return Err(bad(format!("session: must be 1 to {SESSION_NAME_MAX} characters")));
        }
        // A panic in another run leaves the others as they were.
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut sessions, name, at);
        let is_new = !sessions.contains_key(name);
        let session = sessions.entry(name.to_owned()).or_insert_with(|| Session::new(first(), 1, at));
        session.catch_up(at);
        let since = match act {
            PlaygroundAct::Look { since } => since.filter(|_| !is_new),
            act => {
                carry_out(session, act, at).map_err(bad)?;
                None
            }
        };
        Ok(session.view(since))
    }
}

/// What comes with the program.
#[must_use]
pub fn scenarios() -> ScenariosView {
    ScenariosView { scenarios: scenario::shipped() }
}

fn first() -> Scenario {
    scenario::shipped().swap_remove(0)
}

fn carry_out(session: &mut Session, act: PlaygroundAct, at: Instant) -> Result<(), String> {
    match act {
        PlaygroundAct::Look { .. } => Ok(()),
        PlaygroundAct::Load { scenario } => {
            scenario.check().map_err(|why| format!("scenario.{why}"))?;
            load(session, scenario, at);
            Ok(())
        }
        PlaygroundAct::Open { text } if text.len() > FILE_BYTES_MAX => {
            Err(format!("Not a scenario: the file has more than {} KiB.", FILE_BYTES_MAX / 1024))
        }
        PlaygroundAct::Open { text } => {
            load(session, scenario::parse(&text)?, at);
            Ok(())
        }
        PlaygroundAct::Run => {
            session.run(at);
            Ok(())
        }
        PlaygroundAct::Pause => {
            session.pause();
            Ok(())
        }
        PlaygroundAct::Step => {
            session.step();
            Ok(())
        }
        PlaygroundAct::Reset => {
            session.reset(at);
            Ok(())
        }
        PlaygroundAct::Speed { speed } => session.set_speed(speed),
        PlaygroundAct::Add { v, key, queue } => session.add(v, key, queue, at),
        PlaygroundAct::Work { lane, what } => session.work(lane, what, at),
        PlaygroundAct::SetWorker { worker } => session.set_worker(worker),
    }
}

fn load(session: &mut Session, scenario: Scenario, at: Instant) {
    *session = Session::new(scenario, session.revision() + 1, at);
}

/// Ends what nobody looks at, and what is one too many.
fn make_room(sessions: &mut HashMap<String, Session>, name: &str, at: Instant) {
    sessions.retain(|_, session| at.saturating_duration_since(session.looked_at()) < SESSION_IDLE_MAX);
    if sessions.contains_key(name) || sessions.len() < SESSIONS_MAX {
        return;
    }
    let oldest = sessions.iter().min_by_key(|(_, session)| session.looked_at()).map(|(name, _)| name.clone());
    if let Some(oldest) = oldest {
        sessions.remove(&oldest);
    }
}

fn bad(message: String) -> Failure {
    Failure { code: FailureCode::BadRequest, message }
}

#[cfg(test)]
#[path = "playground/scenario_tests.rs"]
mod scenario_tests;
#[cfg(test)]
#[path = "playground/session_tests.rs"]
mod session_tests;
