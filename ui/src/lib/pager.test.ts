import { expect, it, vi } from 'vitest';
import { HostError } from '../platform';
import { Pager, type Page } from './pager.svelte';

/** Pages of three over a list that the test can change. */
function over(list: number[]) {
  const asked: (string | null)[] = [];
  const pager = new Pager<number, Page<number>>((after) => {
    asked.push(after);
    const start = after === null ? 0 : Number(after);
    const next = start + 3 < list.length ? String(start + 3) : null;
    return Promise.resolve({ rows: list.slice(start, start + 3), next, hidden: 0 });
  });
  return { pager, asked };
}

const settled = (pager: Pager<number, Page<number>>, rows: number[]) =>
  vi.waitFor(() => expect(pager.rows).toEqual(rows));

it('grows page by page to the end', async () => {
  const { pager, asked } = over([1, 2, 3, 4, 5]);
  pager.reset();
  await settled(pager, [1, 2, 3]);
  pager.grow();
  await settled(pager, [1, 2, 3, 4, 5]);
  expect(pager.more).toBe(false);
  pager.grow();
  expect(asked).toEqual([null, '3']);
});

it('refreshes only the pages that are looked at', async () => {
  const list = [1, 2, 3, 4, 5, 6, 7];
  const { pager, asked } = over(list);
  pager.reset();
  await settled(pager, [1, 2, 3]);
  pager.grow();
  await settled(pager, [1, 2, 3, 4, 5, 6]);
  list[4] = 50;
  pager.refresh(4, 5);
  await settled(pager, [1, 2, 3, 4, 50, 6]);
  expect(asked).toEqual([null, '3', '3']);
});

it('keeps the rows when a request fails, and says so', async () => {
  let fail = false;
  const pager = new Pager<number, Page<number>>(() =>
    fail
      ? Promise.reject(new HostError('badFilter', 'A value is missing.'))
      : Promise.resolve({ rows: [1], next: null, hidden: 0 }),
  );
  pager.reset();
  await settled(pager, [1]);
  fail = true;
  pager.refresh(0, 1);
  await vi.waitFor(() => expect(pager.error).toEqual({ code: 'badFilter', message: 'A value is missing.' }));
  expect(pager.rows).toEqual([1]);
});

it('an answer to an older question does not win', async () => {
  const answers: ((page: Page<number>) => void)[] = [];
  const pager = new Pager<number, Page<number>>(() => new Promise((resolve) => answers.push(resolve)));
  pager.reset();
  pager.reset();
  answers[0]!({ rows: [1], next: null, hidden: 0 });
  await vi.waitFor(() => expect(answers).toHaveLength(2));
  expect(pager.rows).toEqual([]);
  answers[1]!({ rows: [2], next: null, hidden: 0 });
  await settled(pager, [2]);
});

it('says how far a search looked until its last page has come', async () => {
  const pages: Record<string, [number, string | null, string | null]> = {
    start: [1, 'a', 'Searched 10 of 25 jobs.'],
    a: [2, 'b', 'Searched 20 of 25 jobs.'],
    b: [3, null, null],
  };
  const pager = new Pager<number, Page<number>>((after) => {
    const [row, next, note] = pages[after ?? 'start']!;
    return Promise.resolve({ rows: [row], next, hidden: 0, note });
  });
  pager.reset();
  await settled(pager, [1]);
  expect(pager.note).toBe('Searched 10 of 25 jobs.');
  pager.grow();
  await settled(pager, [1, 2]);
  expect(pager.note).toBe('Searched 20 of 25 jobs.');
  // A fresh first page changes nothing about how far the last one looked.
  pages.start![0] = 10;
  pager.refresh(0, 0);
  await settled(pager, [10, 2]);
  expect(pager.note).toBe('Searched 20 of 25 jobs.');
  pager.grow();
  await settled(pager, [10, 2, 3]);
  expect(pager.note).toBe(null);
});
