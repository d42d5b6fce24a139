import { describe, expect, it } from 'vitest';
import {
  age,
  brief,
  bytes,
  clock,
  count,
  duration,
  middle,
  moment,
  rate,
  shortId,
  span,
  timeLeft,
  visible,
} from './format';

describe('durations', () => {
  it.each([
    [400, '0.4 s'],
    [2449, '2.4 s'],
    [41_000, '41 s'],
    [59_999, '59 s'],
    [188_000, '3 m 08 s'],
    [7_500_000, '2 h 05 m'],
    [446_400_000, '5 d 4 h'],
    [-5, '0.0 s'],
  ])('%i ms reads %s', (ms, text) => expect(duration(ms)).toBe(text));

  it.each([
    [1, '1 s'],
    [9_999, '10 s'],
    [40_001, '41 s'],
    [59_001, '1 m 00 s'],
    [3_580_000, '59 m 40 s'],
  ])('%i ms left reads %s', (ms, text) => expect(timeLeft(ms)).toBe(text));

  it.each([
    [0, 'now'],
    [999, 'now'],
    [1000, '1 s'],
    [61_000, '1 m 01 s'],
  ])('%i ms ago reads %s', (ms, text) => expect(age(ms)).toBe(text));

  it.each([
    [500, '500 ms'],
    [60_000, '60 s'],
    [300_000, '5 min'],
    [3_600_000, '1 h'],
    [90_000, '1 m 30 s'],
  ])('a setting of %i ms reads %s', (ms, text) => expect(span(ms)).toBe(text));
});

describe('moments', () => {
  const at = Date.UTC(2026, 10, 30, 14, 31, 29, 104);

  it('shows milliseconds in a log and the date when it is not today', () => {
    expect(clock(at, at, true, true)).toBe('14:31:29.104');
    expect(clock(at, at, true, false)).toBe('14:31:29');
    expect(clock(at, at + 86_400_000, true, true)).toBe('11-30 14:31:29');
    expect(clock(at, at + 400 * 86_400_000, true, true)).toBe('2026-11-30 14:31:29');
  });

  it('follows the mode everywhere', () => {
    expect(moment(at, at + 5000, 'relative', true)).toBe('5 s');
    expect(moment(at, at + 5000, 'mixed', false)).toBe('5 s');
    expect(moment(at, at + 5000, 'utc', false)).toBe('14:31:29');
    expect(moment(at, at + 5000, 'utc', true)).toBe('14:31:29.104');
  });
});

describe('numbers', () => {
  it.each([
    [9_999, '9,999'],
    [12_431, '12.4k'],
    [999_999, '999k'],
    [1_250_000, '1.2M'],
  ])('%i reads %s', (n, text) => expect(brief(n)).toBe(text));

  it('keeps small rates exact enough', () => {
    expect([0, 0.24, 3.44, 214.4].map(rate)).toEqual(['0', '0.2', '3.4', '214']);
  });

  it('says sizes in KiB and MiB', () => {
    expect([812, 2048, 3_250_585].map(bytes)).toEqual(['812 B', '2.0 KiB', '3.1 MiB']);
  });
});

describe('texts of users', () => {
  it('shortens generated ids only', () => {
    expect(shortId('0199aa00-0000-7000-8000-000000968a07')).toBe('…968a07');
    expect(shortId('order-123')).toBe('order-123');
  });

  it('cuts in the middle and keeps both ends', () => {
    expect(middle('abcdefghij', 10)).toBe('abcdefghij');
    expect(middle('abcdefghijk', 10)).toBe('abcdef…ijk');
    expect(Array.from(middle('👍'.repeat(20), 10))).toHaveLength(10);
  });

  it('shows control and bidirectional characters as symbols', () => {
    expect(visible('a\nb\u0000')).toBe('a␊b␀');
    expect(visible('user\u202e42')).toBe('user□42');
  });
});

it.each([
  [0, '0'],
  [999, '999'],
  [1000, '1,000'],
  [9999.6, '10,000'],
  [1234567, '1,234,567'],
  [-12345, '-12,345'],
])('groups the digits of %s', (n, text) => expect(count(n)).toBe(text));
