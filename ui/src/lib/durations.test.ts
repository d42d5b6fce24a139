import { expect, it } from 'vitest';
import { formatDuration, parseDuration } from './durations';

it.each([
  ['500', 500],
  ['0', 0],
  ['60 s', 60_000],
  ['1h', 3_600_000],
  ['1.5 h', 5_400_000],
  ['0,5s', 500],
  ['1 m 30 s', 90_000],
  ['1m30s', 90_000],
  ['2 D', 172_800_000],
  [' 250 ms ', 250],
])('reads %s', (text, ms) => expect(parseDuration(text)).toBe(ms));

it.each(['', 'soon', '-5', '5 years', '1 2', '1h 30', '99999999999 d', 's'])('refuses %s', (text) =>
  expect(parseDuration(text)).toBeNull(),
);

it.each([0, 1, 500, 1000, 1500, 60_000, 90_000, 120_000, 3_600_000, 7_200_000, 86_400_000, 172_800_000])(
  'writes %s so that it reads the same',
  (ms) => expect(parseDuration(formatDuration(ms))).toBe(ms),
);

it('writes what people write', () => {
  expect([60_000, 120_000, 3_600_000, 1500].map(formatDuration)).toEqual(['60 s', '2 min', '1 h', '1500 ms']);
});
