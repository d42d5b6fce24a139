// The composer: what it sends, what it says while one writes, and that a draft and a run outlive the sheet.
import { cleanup, render, screen, waitFor } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it } from 'vitest';
import App from '../App.svelte';
import type { DryRun } from '../bindings/DryRun';
import type { RunProgress } from '../bindings/RunProgress';
import { blankAdd, composer, openComposer, openLogged } from '../lib/composer.svelte';
import { live } from '../lib/live.svelte';
import { toasts } from '../lib/toasts.svelte';
import { FakeHost } from './fakeHost';
import { addsPage, done, NOW } from './fixtures';

const dry: DryRun = {
  revision: 1,
  now: NOW,
  decision: 'created',
  chip: 'created',
  warn: false,
  why: 'Created. No live job held `k` in `q`.',
  facts: [],
  field: null,
  dataBytes: 7,
  notes: [],
};
const run: RunProgress = {
  id: 3,
  origin: null,
  going: true,
  times: 200,
  answered: 5,
  created: 1,
  replaced: 0,
  returned: 4,
  rejected: 0,
  tookMs: 12,
  sentence: '5 of 200 adds: 1 created, 4 returned, 0 rejected.',
  error: null,
};
let host: FakeHost;

beforeEach(() => {
  localStorage.clear();
  location.hash = '#/adds';
  composer.set(blankAdd());
  host = new FakeHost({
    adds: () => addsPage([]),
    queues: () => ({ revision: 1, now: NOW, rows: [] }),
    dryRun: () => dry,
    sendAdd: () => done('Created.', { seq: 1 }),
    startRun: () => done('Sending 200 adds over 1 connection.'),
    run: () => ({ revision: 1, run }),
    stopRun: () => done('Run 3 stops.'),
    draft: () => ({
      revision: 1,
      add: { ...blankAdd(), queue: 'mail', origin: 812, dataText: null },
      dataBytes: 9,
      notes: [],
    }),
    addData: () => ({ text: '{"n": 9007199254740993}', bytes: 9, complete: true }),
  });
});
afterEach(() => {
  composer.open = false;
  cleanup();
  for (const toast of [...toasts.list]) toasts.close(toast.id);
});

async function opened() {
  const user = userEvent.setup();
  render(App);
  await waitFor(() => expect(live.canAct).toBe(true));
  await user.keyboard('n');
  await screen.findByTestId('composer');
  return user;
}

it('opens by N, says what would happen, and sends what was written', async () => {
  const user = await opened();
  await user.type(screen.getByTestId('composer.queue'), 'mail');
  await user.click(screen.getByTestId('composer.key.id'));
  await user.type(screen.getByTestId('composer.dedup.key'), 'user-42');
  await user.type(screen.getByTestId('composer.dedup.ttl'), '1h');
  await waitFor(() => expect(screen.getByTestId('composer.why').textContent).toContain('No live job held'));
  await user.keyboard('{Control>}{Enter}{/Control}');
  await waitFor(() => expect(host.sent('sendAdd')).toHaveLength(1));
  expect(host.sent('sendAdd')[0]).toEqual({
    type: 'sendAdd',
    ...blankAdd(),
    queue: 'mail',
    dedupId: 'user-42',
    ttlMs: 3_600_000,
  });
  await waitFor(() => expect(screen.queryByTestId('composer')).toBeNull());
});

it('keeps the draft when it is closed', async () => {
  const user = await opened();
  await user.type(screen.getByTestId('composer.queue'), 'mail');
  await user.click(screen.getByTestId('composer.close'));
  await waitFor(() => expect(screen.queryByTestId('composer')).toBeNull());
  openComposer();
  expect((await screen.findByTestId<HTMLInputElement>('composer.queue')).value).toBe('mail');
});

it('sends nothing while a field says nothing, and names the field', async () => {
  const user = await opened();
  await user.click(screen.getByText('Timing and retries'));
  await user.type(screen.getByTestId('composer.delay'), 'soon');
  expect((await screen.findByTestId('composer.problem')).textContent).toContain('delay: a duration such as');
  await user.keyboard('{Control>}{Enter}{/Control}');
  expect(host.sent('sendAdd')).toEqual([]);
  await user.clear(screen.getByTestId('composer.delay'));
  await waitFor(() => expect(screen.queryByTestId('composer.problem')).toBeNull());
});

it('marks the field that the broker complains about', async () => {
  host.handlers.dryRun = () => ({
    ...dry,
    decision: 'rejected.invalid',
    chip: 'rejected',
    field: 'queue',
    why: 'Queue name is required',
  });
  await opened();
  await waitFor(() => expect(screen.getByTestId('composer.queue').getAttribute('aria-invalid')).toBe('true'));
});

it('takes a logged add with its payload, and points back to it', async () => {
  await opened();
  await openLogged(812);
  await waitFor(() => expect(composer.draft.dataText).toBe('{"n": 9007199254740993}'));
  expect(composer.draft.origin).toBe(812);
  expect(screen.getByRole('heading', { name: 'Replay #812' })).toBeTruthy();
});

it('asks before more than a hundred, then follows the run and can stop it', async () => {
  const user = await opened();
  await user.type(screen.getByTestId('composer.queue'), 'mail');
  await user.clear(screen.getByTestId('composer.times'));
  await user.type(screen.getByTestId('composer.times'), '200');
  await user.click(screen.getByTestId('composer.send'));
  const cancel = await screen.findByTestId('composer.confirm.cancel');
  await waitFor(() => expect(document.activeElement).toBe(cancel));
  expect(host.sent('startRun')).toEqual([]);
  await user.click(screen.getByTestId('composer.confirm.confirm'));
  await waitFor(() => expect(host.sent('startRun')[0]).toMatchObject({ times: 200, gapMs: 0, connections: 1 }));
  await user.click(await screen.findByTestId('composer.run.stop'));
  expect(host.sent('stopRun')).toEqual([{ type: 'stopRun', id: 3 }]);
  host.handlers.run = () => ({
    revision: 1,
    run: { ...run, going: false, answered: 5, sentence: 'Stopped after 5 of 200 adds.' },
  });
  await waitFor(() => expect(screen.getByTestId('composer.run').dataset.state).toBe('ended'));
  await user.click(screen.getByTestId('composer.run.show'));
  expect(location.hash).toBe('#/adds?q=run%3A3');
});

it('shows the add as a program, without options that are the default', async () => {
  const user = await opened();
  await user.type(screen.getByTestId('composer.queue'), 'mail');
  await user.click(screen.getByTestId('composer.tab.code'));
  const code = () => screen.getByTestId('composer.code').textContent;
  await waitFor(() => expect(code()).toContain('const queue = new Queue("mail"'));
  expect(code()).toContain('await queue.add("default", undefined);');
  await user.click(screen.getByTestId('composer.code.python'));
  await waitFor(() => expect(code()).toContain('from bunqueue import Queue'));
});
