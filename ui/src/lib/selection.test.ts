import { describe, expect, it } from 'vitest';
import { Selection } from './selection.svelte';

const ROWS = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id }));
const make = () => new Selection<{ id: string }>((row) => row.id);
const ids = (selection: Selection<{ id: string }>) => selection.rows.map((row) => row.id).join('');

describe('a selection', () => {
  it('takes single rows and gives them back', () => {
    const selection = make();
    selection.toggle(ROWS[1]!);
    selection.toggle(ROWS[3]!);
    selection.toggle(ROWS[1]!);
    expect(ids(selection)).toBe('d');
    expect(selection.count(100)).toBe(1);
  });

  it('takes a range from the last single choice, up or down, and again from there', () => {
    const selection = make();
    selection.toggle(ROWS[2]!);
    selection.range(ROWS, ROWS[4]!);
    expect(ids(selection)).toBe('cde');
    selection.range(ROWS, ROWS[0]!);
    expect(ids(selection)).toBe('abc');
  });

  it('takes the loaded rows first, then all that match', () => {
    const selection = make();
    selection.more(ROWS);
    expect(selection.all).toBe(false);
    expect(selection.count(100)).toBe(5);
    selection.more(ROWS);
    expect(selection.all).toBe(true);
    expect(selection.count(100)).toBe(100);
    expect(selection.has('not loaded')).toBe(true);
    selection.toggle(ROWS[0]!);
    expect(selection.all).toBe(false);
  });

  it('keeps rows as they were when they were chosen', () => {
    const selection = new Selection<{ id: string; n: number }>((row) => row.id);
    selection.toggle({ id: 'a', n: 1 });
    selection.more([{ id: 'a', n: 2 }]);
    expect(selection.rows[0]!.n).toBe(1);
  });
});
