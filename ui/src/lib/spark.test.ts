import { expect, it } from 'vitest';
import { linePath } from './spark';

it('draws from the left edge to the right one, the most at the top and nothing at the bottom', () => {
  expect(linePath([0, 5, 10], 10, 100, 22)).toBe('M0 21L50 11L100 1');
  expect(linePath([3], 3, 100, 22)).toBe('M0 1');
  expect(linePath([], 1, 100, 22)).toBe('');
  expect(linePath([0, 0], 0, 100, 22)).toBe('M0 21L100 21');
});
