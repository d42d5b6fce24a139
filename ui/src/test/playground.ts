// A run of the playground as the broker would give it.
import type { LaneView } from '../bindings/LaneView';
import type { PlaygroundView } from '../bindings/PlaygroundView';
import type { PlayRun } from '../bindings/PlayRun';
import type { Scenario } from '../bindings/Scenario';

export function playLane(more: Partial<LaneView> = {}): LaneView {
  const figures: LaneView['figures'] = {
    jobs: 0,
    runs: 0,
    absorbed: 0,
    removed: 0,
    rejected: 0,
    failed: 0,
    firstRun: null,
    lastRun: null,
    ran: 'Nothing was added yet.',
  };
  return {
    spec: { strategy: 'plain', ttlMs: null, delayMs: 0 },
    title: 'plain key',
    jobs: [],
    adds: [],
    keys: [],
    figures,
    ready: 0,
    held: 0,
    ...more,
  };
}

export function playScenario(more: Partial<Scenario> = {}): Scenario {
  return {
    id: 'custom',
    title: 'Your own',
    text: [],
    queue: 'playground',
    key: 'my-key',
    lanes: [
      { strategy: 'plain', ttlMs: null, delayMs: 0 },
      { strategy: 'replace', ttlMs: 3_000, delayMs: 0 },
    ],
    worker: { auto: true, durationMs: 1_500, failEvery: 0, leaseMs: 5_000 },
    script: [],
    lengthMs: 0,
    ...more,
  };
}

export function playRun(more: Partial<PlayRun> = {}, scenario: Partial<Scenario> = {}): PlayRun {
  return {
    scenario: playScenario(scenario),
    played: [],
    newestV: 0,
    lanes: [playLane()],
    lines: [],
    linesDropped: 0,
    ...more,
  };
}

export function playView(more: Partial<PlaygroundView> = {}): PlaygroundView {
  return { revision: 1, clock: 'ready', tMs: 0, speed: 1, note: null, run: playRun(), ...more };
}
