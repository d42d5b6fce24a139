//! The engine as the file has it.

use crate::error::CoreFailure;
use onceover_engine::change::{RestoreError, Snapshot};
use onceover_engine::effects::Effects;
use onceover_engine::time::Timestamp;
use onceover_engine::{Engine, EngineConfig};
use onceover_store::Storage;

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
    let rows = Snapshot { ran_on, ..storage.load().map_err(CoreFailure::Store)? };
    let mut effects = Effects::default();
    let engine = Engine::restore(config, seed, rows, now, &mut effects)
        .map_err(|RestoreError { message }| CoreFailure::Rows { message })?;
    Ok((engine, effects))
}
