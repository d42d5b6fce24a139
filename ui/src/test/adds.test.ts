// The log of adds by keyboard, filter and pause.
import { cleanup, render, screen, waitFor } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it } from 'vitest';
import App from '../App.svelte';
import { live } from '../lib/live.svelte';
import { toasts } from '../lib/toasts.svelte';
import { HostError } from '../platform';
import { FakeHost } from './fakeHost';
import { addDetail, addRow, addsPage, done } from './fixtures';

let rows = [3, 2, 1].map((seq) => addRow({ seq, idText: `user-${seq}` }));
let host: FakeHost;

beforeEach(() => {
  localStorage.clear();
  location.hash = '#/adds';
  rows = [3, 2, 1].map((seq) => addRow({ seq, idText: `user-${seq}` }));
  host = new FakeHost({
    adds: (request) => {
      if (request.filter === 'queue:') throw new HostError('badFilter', 'A value is missing after "queue:".');
      return addsPage(request.limit === 0 ? [] : rows.filter((row) => row.idText.includes(request.filter)));
    },
    add: (request) => addDetail(rows.find((row) => row.seq === request.seq)!),
    replayAdd: () => done('Replayed #2: returned.', { seq: 4 }),
  });
});
afterEach(() => {
  cleanup();
  live.setPaused(false);
  for (const toast of [...toasts.list]) toasts.close(toast.id);
});

const shown = () => screen.getAllByTestId('adds.row').map((row) => row.dataset.seq);

it('arrows and letters move, Enter opens, R replays, Esc closes and gives the focus back', async () => {
  const user = userEvent.setup();
  render(App);
  await screen.findAllByTestId('adds.row');
  await waitFor(() => expect(live.canAct).toBe(true));
  const table = screen.getByTestId('adds.table');
  table.focus();
  await user.keyboard('{ArrowDown}');
  expect(screen.queryByTestId('adds.drawer')).toBeNull();
  await user.keyboard('r');
  expect(host.sent('replayAdd')).toEqual([{ type: 'replayAdd', seq: 2 }]);
  await user.keyboard('jk{Enter}');
  const drawer = await screen.findByTestId('adds.drawer');
  await waitFor(() => expect(drawer.contains(document.activeElement)).toBe(true));
  expect(location.hash).toContain('open=2');
  await screen.findByTestId('adds.why');
  await user.keyboard('{Escape}');
  await waitFor(() => expect(screen.queryByTestId('adds.drawer')).toBeNull());
  expect(document.activeElement).toBe(table);
});

it('the filter is asked of the broker; a mistake is marked and the rows stay', async () => {
  const user = userEvent.setup();
  render(App);
  await screen.findAllByTestId('adds.row');
  const box = screen.getByTestId('adds.filter');
  await user.type(box, 'user-2');
  await waitFor(() => expect(shown()).toEqual(['2']));
  await user.clear(box);
  await user.type(box, 'queue:');
  await waitFor(() => expect(box.getAttribute('aria-invalid')).toBe('true'));
  expect(shown().length).toBeGreaterThan(0);
  expect(location.hash).toContain('q=queue');
});

it('paused means that no row changes', async () => {
  render(App);
  await screen.findAllByTestId('adds.row');
  const user = userEvent.setup();
  await user.keyboard('l');
  expect(live.paused).toBe(true);
  rows = [addRow({ seq: 4 }), ...rows];
  host.hint();
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(shown()).toEqual(['3', '2', '1']);
  await user.keyboard('l');
  await waitFor(() => expect(shown()).toEqual(['4', '3', '2', '1']));
});

it('letters typed into the filter are text', async () => {
  const user = userEvent.setup();
  render(App);
  await screen.findAllByTestId('adds.row');
  await user.keyboard('/');
  await user.keyboard('all');
  expect((screen.getByTestId('adds.filter') as HTMLInputElement).value).toBe('all');
  expect(live.paused).toBe(false);
});

it('an empty log says how to fill it, a filtered one how to see it again', async () => {
  host.handlers.adds = () => addsPage([]);
  render(App);
  expect((await screen.findByTestId('adds.empty')).textContent).toContain('Point an SDK at 127.0.0.1:6789');
  host.handlers.adds = () => addsPage([], { total: 0, hidden: 12_400 });
  await userEvent.setup().type(screen.getByTestId('adds.filter'), 'nothing');
  await waitFor(() =>
    expect(screen.getByTestId('adds.empty').textContent).toContain('12,400 are hidden by the filter'),
  );
});
