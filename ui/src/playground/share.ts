// Sharing a run: the scenario as a file, what was done by hand included.
import type { PlayRun } from '../bindings/PlayRun';
import type { Scenario } from '../bindings/Scenario';

/** Time a shared run goes on after its last step, in ms. */
const AFTER_MS = 3_000;
/** The longest run there is, in ms. */
const LENGTH_MAX_MS = 600_000;

/** The scenario that plays this run again, its members in the order in which one reads them. */
export function sharedScenario(run: PlayRun): Scenario {
  const { id, title, text, queue, key, lanes, worker, script, lengthMs } = withHandwork(run);
  return {
    ...{ id, title, text, queue, key },
    lanes: lanes.map(({ strategy, ttlMs, delayMs }) => ({ strategy, ttlMs, delayMs })),
    worker,
    script: script.map(({ atMs, act, note }) => ({ atMs, act, note })),
    lengthMs,
  };
}

function withHandwork(run: PlayRun): Scenario {
  if (run.played.length === 0) return run.scenario;
  const last = run.played.at(-1)?.atMs ?? 0;
  const lengthMs = Math.min(LENGTH_MAX_MS, Math.max(run.scenario.lengthMs, last + AFTER_MS));
  return {
    ...run.scenario,
    id: `my-${run.scenario.id}`.slice(0, 60),
    title: mine(run.scenario.title),
    script: run.played,
    lengthMs,
  };
}

function mine(title: string): string {
  return title.endsWith('(mine)') ? title : `${title.slice(0, 73)} (mine)`;
}

/** The file's text. */
export function scenarioText(run: PlayRun): string {
  return `${JSON.stringify(sharedScenario(run), null, 2)}\n`;
}

export function scenarioFileName(run: PlayRun): string {
  return `${sharedScenario(run).id.replace(/[^\w-]+/g, '-') || 'scenario'}.json`;
}
