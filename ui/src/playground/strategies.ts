// The strategies of a lane in the order of the list, and the add that each one stands for.
import type { LaneSpec } from '../bindings/LaneSpec';
import type { LaneStrategy } from '../bindings/LaneStrategy';
import type { NewAdd } from '../bindings/NewAdd';
import type { Scenario } from '../bindings/Scenario';

export const LANE_STRATEGIES: Record<LaneStrategy, string> = {
  none: 'no id',
  jobId: 'job ID',
  plain: 'plain key',
  ttl: 'key with TTL',
  extend: 'extend',
  replace: 'replace',
  extendReplace: 'extend + replace',
  hash: 'hash of data',
  keepLast: 'keep last if active',
};

const NEEDS_TTL: LaneStrategy[] = ['ttl', 'extend', 'extendReplace'];
const TTL_DEFAULT_MS = 3_000;

export function hasKey(strategy: LaneStrategy): boolean {
  return strategy !== 'none' && strategy !== 'jobId';
}

export function needsTtl(strategy: LaneStrategy): boolean {
  return NEEDS_TTL.includes(strategy);
}

/** The lane with another strategy; a window is added or dropped as that one needs. */
export function withStrategy(lane: LaneSpec, strategy: LaneStrategy): LaneSpec {
  const ttlMs =
    !hasKey(strategy) || strategy === 'plain' ? null : (lane.ttlMs ?? (needsTtl(strategy) ? TTL_DEFAULT_MS : null));
  return { ...lane, strategy, ttlMs };
}

/** Choices for a duration in ms, the present one among them. */
export function durations(choices: number[], present: number | null): { value: string; label: string }[] {
  const all = present === null || choices.includes(present) ? choices : [...choices, present].sort((a, b) => a - b);
  return all.map((ms) => ({ value: String(ms), label: `${ms / 1000} s` }));
}

/** The add that a lane makes, as a draft for the composer. */
export function draftOf(lane: LaneSpec, scenario: Scenario): Partial<NewAdd> {
  const { strategy } = lane;
  return {
    queue: scenario.queue,
    name: 'job',
    dataText: '{"v": 1}',
    jobId: strategy === 'jobId' ? scenario.key : null,
    dedupId: hasKey(strategy) && strategy !== 'hash' ? scenario.key : null,
    dedupHash: strategy === 'hash',
    ttlMs: lane.ttlMs,
    extend: strategy === 'extend' || strategy === 'extendReplace',
    replace: strategy === 'replace' || strategy === 'extendReplace',
    keepLastIfActive: strategy === 'keepLast',
    delayMs: lane.delayMs || null,
  };
}
