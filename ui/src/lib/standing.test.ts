import { expect, it } from 'vitest';
import { ENDED_STAYS_MS, settle, type Standing } from './standing';

interface Row {
  id: string;
  n: number;
}
const row = (id: string, n = 0): Row => ({ id, n });
const shown = (...ids: string[]): Standing<Row> => ({ rows: ids.map((id) => row(id)), ended: new Map() });
const ids = (standing: Standing<Row>) => standing.rows.map((r) => r.id).join('');
const fresh = (rows: Row[], more: { still?: boolean; now?: number; ended?: string[] } = {}) => ({
  rows,
  keyOf: (r: Row) => r.id,
  reasonOf: (r: Row) => (more.ended?.includes(r.id) ? 'TTL ended' : undefined),
  still: more.still ?? false,
  now: more.now ?? 1000,
});

it('takes the new order when nobody points at the rows', () => {
  expect(ids(settle(shown('a', 'b', 'c'), fresh([row('c'), row('a'), row('b')])))).toBe('cab');
});

it('keeps places, takes new values and puts new rows last while somebody points', () => {
  const next = settle(shown('a', 'b', 'c'), fresh([row('d'), row('c', 3), row('a', 1)], { still: true }));
  expect(ids(next)).toBe('acd');
  expect(next.rows[1]!.n).toBe(3);
});

it('leaves a row that ended where it was for two seconds, with its reason', () => {
  const first = settle(shown('a', 'b', 'c'), fresh([row('a'), row('c')], { ended: ['b'] }));
  expect(ids(first)).toBe('abc');
  expect(first.ended.get('b')?.reason).toBe('TTL ended');
  const later = settle(first, fresh([row('c'), row('a')], { now: 1000 + ENDED_STAYS_MS - 1 }));
  expect(ids(later)).toBe('cba');
  const gone = settle(later, fresh([row('c'), row('a')], { now: 1000 + ENDED_STAYS_MS }));
  expect(ids(gone)).toBe('ca');
  expect(gone.ended.size).toBe(0);
});

it('drops a row that left for another reason, and takes one back that is held again', () => {
  expect(ids(settle(shown('a', 'b'), fresh([row('a')])))).toBe('a');
  const ended = settle(shown('a', 'b'), fresh([row('a')], { ended: ['b'] }));
  const back = settle(ended, fresh([row('b', 9), row('a')]));
  expect(ids(back)).toBe('ba');
  expect(back.ended.size).toBe(0);
});
