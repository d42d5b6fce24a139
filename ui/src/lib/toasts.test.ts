import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SUCCESS_MS, toasts, UNDO_MS } from './toasts.svelte';

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.advanceTimersByTime(UNDO_MS * 2);
  for (const toast of [...toasts.list]) toasts.close(toast.id);
  vi.useRealTimers();
});

it('successes fade, errors stay, equal ones merge', () => {
  toasts.done('Saved.');
  toasts.done('Saved.');
  toasts.error('Refused.');
  expect(toasts.list.map((t) => [t.text, t.count])).toEqual([
    ['Saved.', 2],
    ['Refused.', 1],
  ]);
  vi.advanceTimersByTime(SUCCESS_MS + 500);
  expect(toasts.list.map((t) => t.text)).toEqual(['Refused.']);
});

it('an undo is offered for ten seconds, longer while the pointer is on it', () => {
  const undo = vi.fn();
  toasts.undoable('Released.', undo);
  toasts.held = toasts.list[0]!.id;
  vi.advanceTimersByTime(UNDO_MS * 2);
  expect(toasts.list).toHaveLength(1);
  toasts.held = null;
  vi.advanceTimersByTime(UNDO_MS - 500);
  expect(toasts.undoLast()).toBe(true);
  expect(undo).toHaveBeenCalledOnce();
  expect(toasts.undoLast()).toBe(false);
});

it('three at most, the newest', () => {
  ['a', 'b', 'c', 'd'].forEach((text) => toasts.error(text));
  expect(toasts.list.map((t) => t.text)).toEqual(['b', 'c', 'd']);
});
