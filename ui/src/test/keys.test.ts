// Releasing a key: what is sent is what was seen, a changed key is left alone, and an undo puts it back.
import { cleanup, render, screen, waitFor, within } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it } from 'vitest';
import App from '../App.svelte';
import { toasts } from '../lib/toasts.svelte';
import { live } from '../lib/live.svelte';
import { HostError } from '../platform';
import { FakeHost } from './fakeHost';
import { NOW, done, jobId, keyDetail, keyRow, keysPage, releasePreview } from './fixtures';

const waiting = keyRow({ ownerState: 'waiting' });
const seen = { queue: 'sync', key: 'sync-task', ownerId: waiting.ownerId, generation: 7 };
const NO_JOBS = {
  all: 0,
  waiting: 0,
  prioritized: 0,
  delayed: 0,
  active: 0,
  waitingChildren: 0,
  completed: 0,
  failed: 0,
};
let host: FakeHost;

beforeEach(() => {
  localStorage.clear();
  location.hash = '#/keys';
  host = new FakeHost({
    keys: () => keysPage([waiting, keyRow({ key: 'other', ownerState: 'delayed' })]),
    key: () => keyDetail(waiting),
    releasePreview: () => releasePreview(waiting),
    releaseKey: () => done('Released `sync-task`.', { undo: { type: 'restoreKeys', keys: [seen] } }),
    restoreKeys: () => done('Restored `sync-task`.'),
    replayAdd: () => done('Replayed #812.', { seq: 813 }),
  });
});
afterEach(() => {
  cleanup();
  for (const toast of [...toasts.list]) toasts.close(toast.id);
  live.setPaused(false);
});

async function openRelease() {
  const user = userEvent.setup();
  render(App);
  await waitFor(() => expect(live.canAct).toBe(true));
  await user.click((await screen.findAllByTestId('keys.row'))[0]!);
  await user.click(await screen.findByTestId('keys.release'));
  await screen.findByTestId('keys.release.preview');
  return user;
}

it('sends owner and generation as they were on the screen, and offers an undo', async () => {
  const user = await openRelease();
  await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId('keys.release.confirm')));
  await user.click(screen.getByTestId('keys.release.confirm'));
  expect(host.sent('releaseKey')).toEqual([{ type: 'releaseKey', ...seen }]);
  await user.click(await screen.findByTestId('toast.offer'));
  await waitFor(() => expect(host.sent('restoreKeys')).toEqual([{ type: 'restoreKeys', keys: [seen] }]));
});

it('says so when the key changed, and releases it only after another look', async () => {
  const changed = { ...waiting, generation: 8, ownerId: jobId(0xd4e5f6) };
  const user = await openRelease();
  host.handlers.releasePreview = () => releasePreview(changed);
  host.handlers.releaseKey = (request) =>
    request.generation === 8
      ? done('Released `sync-task`.')
      : done('This key changed while you looked.', { ok: false, code: 'changed' });
  await user.click(screen.getByTestId('keys.release.confirm'));
  const notice = await screen.findByTestId('keys.release.changed');
  expect(notice.textContent).toContain('changed while you looked');
  expect(screen.queryByTestId('keys.release.confirm')).toBeNull();
  await user.click(screen.getByTestId('keys.release.again'));
  await user.click(await screen.findByTestId('keys.release.confirm'));
  await waitFor(() => expect(host.sent('releaseKey').map((r) => r.generation)).toEqual([7, 8]));
});

it('puts the focus on Cancel when two jobs could run at once', async () => {
  host.handlers.key = () => keyDetail(keyRow());
  host.handlers.releasePreview = () => releasePreview(keyRow());
  await openRelease();
  await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId('keys.release.cancel')));
});

it('says that a key ended while it was open', async () => {
  const user = userEvent.setup();
  render(App);
  await user.click((await screen.findAllByTestId('keys.row'))[0]!);
  await screen.findByTestId('keys.release');
  host.handlers.key = () => {
    throw new HostError('notFound', 'No such key.');
  };
  host.hint();
  await screen.findByTestId('keys.gone');
  expect(screen.queryByTestId('keys.release')).toBeNull();
});

it('replays the last add by key and by button', async () => {
  const user = userEvent.setup();
  render(App);
  await waitFor(() => expect(live.canAct).toBe(true));
  await user.click((await screen.findAllByTestId('keys.row'))[0]!);
  await user.click(await screen.findByTestId('keys.replay'));
  await waitFor(() => expect(host.sent('replayAdd')).toEqual([{ type: 'replayAdd', seq: 812 }]));
});

it('says that more job ids match than one removal takes', async () => {
  location.hash = '#/keys?chip=jobIds';
  const rows = Array.from({ length: 200 }, (_, i) => keyRow({ key: `order-${i}`, kind: 'jobId' }));
  host.handlers.keys = (request) => keysPage(rows, { total: 10_001, next: String(Number(request.after ?? 0) + 1) });
  host.handlers.jobsPreview = () => ({
    ...{ revision: 1, now: NOW, total: 10_000, possible: 10_000, keys: 0, sample: [], note: null },
    counts: { ...NO_JOBS, all: 10_000, waiting: 10_000 },
  });
  const user = userEvent.setup();
  render(App);
  await waitFor(() => expect(live.canAct).toBe(true));
  await screen.findAllByTestId('keys.row');
  screen.getByTestId('keys.table').focus();
  await user.keyboard('{Control>}aa{/Control}');
  await user.click(await screen.findByTestId('keys.bulk.removeJob'));
  const dialog = await screen.findByTestId('jobs.bulk.dialog');
  await waitFor(() => expect(dialog.textContent).toContain('these are the first 10,000'));
  expect(host.sent('jobsPreview')[0]!.jobs).toMatchObject({ by: 'ids', ids: { length: 10_000 } });
});

it('offers no action while the broker is away', async () => {
  render(App);
  await screen.findAllByTestId('keys.row');
  host.link({ state: 'lost', since: Date.now(), attempts: 2 });
  const banner = await screen.findByTestId('banner.lost');
  expect(within(banner).getByText(/Reconnecting \(2\)/)).toBeTruthy();
  expect(live.canAct).toBe(false);
});
