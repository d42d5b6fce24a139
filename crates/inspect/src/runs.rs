//! Runs of many adds: their bounds, their start, and their figures in words.

use crate::compose;
use crate::request::{NewAdd, StartRun};
use crate::send;
use crate::view::{ActionResult, Failure, FailureCode, RefusalCode, RunProgress};
use crate::words::{count, plural};
use onceover_broker::BrokerHandle;
use onceover_broker::run::{RUN_CONNECTIONS, RUN_GAP_MAX, RUN_TIMES, RunFigures, RunPlan, RunState};
use std::time::Duration;

use crate::actions::{Outcome, done, finished, refused};

/// Starts a run.
pub async fn start(broker: &BrokerHandle, asked: StartRun) -> Outcome {
    let StartRun { add, times, gap_ms, connections } = asked;
    let gap_max = u64::try_from(RUN_GAP_MAX.as_millis()).unwrap_or(u64::MAX);
    bounded("times", times, *RUN_TIMES.start(), *RUN_TIMES.end())?;
    bounded("connections", connections, *RUN_CONNECTIONS.start(), *RUN_CONNECTIONS.end())?;
    bounded("gapMs", gap_ms, 0, gap_max)?;
    let command = match command(broker, &add).await? {
        Ok(command) => command,
        Err(text) => return finished(broker, refused(RefusalCode::Rejected, text)).await,
    };
    let gap = Duration::from_millis(gap_ms);
    let result = match broker.start_run(RunPlan { command, times, gap, connections, origin: add.origin }) {
        Ok(_) => {
            let over = plural(u64::from(connections), "connection");
            done(format!("Sending {} over {over}.", plural(u64::from(times), "add")))
        }
        Err(why) => refused(RefusalCode::NotPossible, why.to_string()),
    };
    finished(broker, result).await
}

/// The frame of an add that can be sent.
async fn command(broker: &BrokerHandle, add: &NewAdd) -> Result<Result<Vec<u8>, String>, Failure> {
    let data = match compose::data(broker, add).await? {
        Ok(data) => data,
        Err(text) => return Ok(Err(text)),
    };
    Ok(send::add(add, data.as_deref()).map(|_| send::frame(add, data.as_deref()).to_vec()))
}

fn bounded<T: PartialOrd + std::fmt::Display>(field: &str, value: T, min: T, max: T) -> Result<(), Failure> {
    if value >= min && value <= max {
        return Ok(());
    }
    Err(Failure { code: FailureCode::BadRequest, message: format!("{field}: must be {min} to {max}") })
}

/// Ends a run before its time.
pub async fn stop(broker: &BrokerHandle, id: u64) -> Outcome {
    let result: ActionResult = if broker.stop_run(id) {
        done(format!("Run {id} stops: nothing more is sent."))
    } else {
        refused(RefusalCode::Gone, format!("Run {id} has ended."))
    };
    finished(broker, result).await
}

/// A run in words.
pub fn progress(figures: &RunFigures) -> RunProgress {
    RunProgress {
        id: figures.mark.run,
        origin: figures.mark.origin,
        going: figures.state == RunState::Going,
        times: figures.times,
        answered: figures.answered(),
        created: figures.created,
        replaced: figures.replaced,
        returned: figures.returned,
        rejected: figures.rejected,
        took_ms: u64::try_from(figures.took.as_millis()).unwrap_or(u64::MAX),
        sentence: sentence(figures),
        error: figures.error.clone(),
    }
}

fn sentence(figures: &RunFigures) -> String {
    let number = |number: u32| count(u64::from(number));
    let replaced = match figures.replaced {
        0 => String::new(),
        some => format!("{} replaced, ", number(some)),
    };
    let counts = format!(
        "{} created, {replaced}{} returned, {} rejected",
        number(figures.created),
        number(figures.returned),
        number(figures.rejected)
    );
    let took = count(u64::try_from(figures.took.as_millis()).unwrap_or(u64::MAX));
    let (answered, times) = (number(figures.answered()), plural(u64::from(figures.times), "add"));
    match figures.state {
        RunState::Going => format!("{answered} of {times}: {counts}."),
        RunState::Done => format!("{times}: {counts} in {took} ms."),
        RunState::Stopped => format!("Stopped after {answered} of {times}: {counts} in {took} ms."),
        RunState::Failed => format!("Ended after {answered} of {times}: {counts} in {took} ms."),
    }
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod runs_tests;
