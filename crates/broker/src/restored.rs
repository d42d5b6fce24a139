//! The engine as the file has it.

use crate::error::CoreFailure;
use onceover_engine::change::{RestoreError, Snapshot};
use onceover_engine::effects::Effects;
use onceover_engine::time::Timestamp;
use onceover_engine::{Engine, EngineConfig, Restoring};
use onceover_store::{Loaded, Storage};

/// Reads it. `ran_on` = the broker has run all the time: what came due meanwhile was not missed.
///
/// # Errors
/// The file cannot be read, or holds what cannot be true.
pub(crate) fn restored<S: Storage>(
    storage: &mut S,
    config: EngineConfig,
    seed: u64,
    now: Timestamp,
    ran_on: bool,
) -> Result<(Engine, Effects), CoreFailure> {
    let mut read = || -> Result<(Restoring, Loaded), CoreFailure> {
        let mut restoring = Restoring::new(config.clone(), seed, now);
        restoring.take(Snapshot { ran_on, ..Snapshot::default() });
        let loaded = storage.load_parts(&mut |part| restoring.take(part)).map_err(CoreFailure::Store)?;
        Ok((restoring, loaded))
    };
    let restoring = match read()? {
        (restoring, Loaded::Whole) => restoring,
        (_, Loaded::SetAside) => read()?.0,
    };
    let mut effects = Effects::default();
    let engine = restoring.finish(&mut effects).map_err(|RestoreError { message }| CoreFailure::Rows { message })?;
    Ok((engine, effects))
}
