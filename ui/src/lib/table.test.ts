import { describe, expect, it } from 'vitest';
import { fittingColumns, gridTemplate, leastWidth, moveTo, visibleSlice, type Column } from './table';

describe('rows', () => {
  it('draws what is visible and ten more on each side', () => {
    expect(visibleSlice(3200, 640, 32, 1000)).toEqual({ start: 90, end: 130, first: 100, last: 119 });
    expect(visibleSlice(0, 640, 32, 5)).toEqual({ start: 0, end: 5, first: 0, last: 4 });
    expect(visibleSlice(0, 640, 32, 0)).toMatchObject({ start: 0, end: 0 });
  });

  it('never draws a whole long list, however tall the viewport seems', () => {
    const { start, end } = visibleSlice(0, 3_200_000, 32, 100_000);
    expect(end - start).toBeLessThan(150);
  });

  it('stays in the list when it got shorter than the scroll position', () => {
    expect(visibleSlice(32_000, 640, 32, 10)).toMatchObject({ first: 9, last: 9, end: 10 });
  });
});

describe('columns', () => {
  const columns: Column[] = [
    { id: 'key', label: 'KEY', width: 100, grow: 1 },
    { id: 'queue', label: 'QUEUE', width: 100, drop: 2 },
    { id: 'last', label: 'LAST', width: 100, drop: 1 },
  ];
  const fit = (width: number) => fittingColumns(columns, width).map((column) => column.id);

  it('leave in their order of importance', () => {
    expect(fit(300)).toEqual(['key', 'queue', 'last']);
    expect(fit(299)).toEqual(['key', 'last']);
    expect(fit(150)).toEqual(['key']);
    expect(fit(10)).toEqual(['key']);
    expect(fit(0)).toEqual(['key', 'queue', 'last']);
  });

  it('grow or keep their width', () => {
    expect(gridTemplate(columns.slice(0, 2))).toBe('minmax(100px, 1fr) 100px');
  });

  it('set by hand have that width and do not push others out', () => {
    const wide = columns.map((column) => (column.id === 'key' ? { ...column, by: 400 } : column));
    expect(fittingColumns(wide, 300)).toHaveLength(3);
    expect(gridTemplate(wide)).toBe('400px 100px 100px');
    expect(leastWidth(wide)).toBe(600);
  });
});

it.each([
  ['ArrowDown', 3, 4],
  ['ArrowUp', 0, 0],
  ['j', 8, 9],
  ['j', 9, 9],
  ['K', 5, 4],
  ['PageDown', 3, 8],
  ['Home', 7, 0],
  ['End', 0, 9],
  ['x', 3, null],
])('%s from row %i goes to %s', (key, from, to) => {
  expect(moveTo(key, from, 10, 5, true)).toBe(to);
});

it('letters can be switched off', () => {
  expect(moveTo('j', 3, 10, 5, false)).toBeNull();
});
