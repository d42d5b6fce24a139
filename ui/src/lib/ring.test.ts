import { expect, it } from 'vitest';
import { ringState } from './ring';

it.each([
  [null, null, 'none', 0],
  [60_000, 60_000, 'run', 1],
  [30_000, 60_000, 'run', 0.5],
  [9_999, 60_000, 'low', 0.16665],
  [-200, 60_000, 'low', 0],
  [90_000, 60_000, 'run', 1],
  [30_000, null, 'run', 1],
] as const)('%s of %s ms is %s with %d', (left, ttl, kind, fraction) => {
  const ring = ringState(left, ttl);
  expect(ring.kind).toBe(kind);
  expect(ring.fraction).toBeCloseTo(fraction, 5);
});
