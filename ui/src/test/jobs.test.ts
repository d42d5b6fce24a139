// Jobs: what is not possible says why, many at once are asked about first, an edit is compared before it is saved.
import { cleanup, render, screen, waitFor, within } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it } from 'vitest';
import App from '../App.svelte';
import { live } from '../lib/live.svelte';
import { toasts } from '../lib/toasts.svelte';
import { FakeHost } from './fakeHost';
import { NOW, done, jobDetail, jobId, jobRow, jobsPage } from './fixtures';

const waiting = jobRow();
const active = jobRow({
  id: jobId(0xac7173),
  state: 'active',
  stalls: 2,
  holder: {
    name: 'mailer-1',
    client: 'node #3',
    pid: 4123,
    goneSince: null,
    leaseEndsAt: NOW + 18_000,
    leaseMs: 30_000,
    renewals: 4,
  },
});
let host: FakeHost;

beforeEach(() => {
  localStorage.clear();
  location.hash = '#/jobs';
  host = new FakeHost({
    jobs: () => jobsPage([active, waiting]),
    job: (request) => jobDetail(request.id === active.id ? active : waiting),
    jobsPreview: () => ({
      revision: 1,
      now: NOW,
      total: 2,
      possible: 1,
      counts: { ...jobsPage([active, waiting]).counts },
      keys: 1,
      sample: [active, waiting],
      note: null,
    }),
    bulkJobs: () =>
      done('Removed 1 job. 1 was left alone.', {
        leftAlone: [{ id: active.id, queue: '', reason: 'It is active: a worker has it.' }],
      }),
  });
});
afterEach(() => {
  cleanup();
  for (const toast of [...toasts.list]) toasts.close(toast.id);
});

async function open() {
  const user = userEvent.setup();
  render(App);
  await waitFor(() => expect(live.canAct).toBe(true));
  const rows = await screen.findAllByTestId('jobs.row');
  return { user, rows };
}

it('says who has an active job, and how often it lost its worker', async () => {
  const { user, rows } = await open();
  await user.click(rows[0]!);
  const holder = await screen.findByTestId('jobs.holder');
  expect(holder.textContent).toContain('mailer-1');
  expect(holder.textContent).toContain('node #3');
  expect(holder.textContent).toContain('pid 4123');
  expect(holder.textContent).toMatch(/of 30 s, renewed 4 times/);
  expect(screen.getByTestId('jobs.stalls').textContent).toContain('2 times');
});

it('an action that is not possible stays and says why', async () => {
  const { user, rows } = await open();
  await user.click(rows[1]!);
  const retry = await screen.findByTestId('jobs.retry');
  expect(retry.getAttribute('aria-disabled')).toBe('true');
  expect(retry.title).toBe('Only a failed job can be retried.');
  await user.click(retry);
  expect(host.sent('retryJob')).toEqual([]);
});

it('many jobs are removed only after a question, and those left alone are listed', async () => {
  const { user, rows } = await open();
  for (const row of rows) await user.click(within(row).getByTestId('jobs.check'));
  await user.click(await screen.findByTestId('jobs.bulk.remove'));
  const dialog = await screen.findByTestId('jobs.bulk.dialog');
  await waitFor(() => expect(dialog.textContent).toContain('1 of them will be left alone'));
  expect(document.activeElement).toBe(screen.getByTestId('jobs.bulk.dialog.cancel'));
  expect(host.sent('bulkJobs')).toEqual([]);
  const verb = screen.getByTestId('jobs.bulk.dialog.confirm');
  expect(verb.textContent).toBe('Remove 1 job');
  await user.click(verb);
  expect(host.sent('bulkJobs')).toEqual([
    { type: 'bulkJobs', action: 'remove', jobs: { by: 'ids', ids: [active.id, waiting.id] } },
  ]);
  const offer = await screen.findByTestId('toast.offer');
  // A dialog that is about to close still keeps the pointer from what is behind it.
  await waitFor(() => expect(document.body.style.pointerEvents).not.toBe('none'));
  await user.click(offer);
  const list = await screen.findByTestId('leftAlone');
  expect(within(list).getByTestId('leftAlone.item').textContent).toContain('It is active');
});
