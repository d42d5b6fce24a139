// The frame: the palette finds what is pasted, toasts stay in a list, a broker that stopped explains itself, and closing a
// desktop window is a question only when it matters.
import { cleanup, render, screen, waitFor, within } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it } from 'vitest';
import App from '../App.svelte';
import { live } from '../lib/live.svelte';
import { setSetting } from '../lib/settings.svelte';
import { toasts } from '../lib/toasts.svelte';
import { HostError, type Shell, type ShellReply } from '../platform';
import { FakeHost } from './fakeHost';
import { addsPage, jobDetail, jobId, jobRow, keyRow, keysPage, overview, queueRow } from './fixtures';

let host: FakeHost;

beforeEach(() => {
  localStorage.clear();
  location.hash = '#/adds';
  host = new FakeHost({
    adds: () => addsPage([]),
    keys: () => keysPage([keyRow()]),
    queues: () => ({ revision: 1, now: 0, rows: [queueRow()] }),
    job: (request) => {
      if (request.id !== jobId(0x968a07)) throw new HostError('notFound', 'There is no such job.');
      return jobDetail(jobRow());
    },
  });
});
afterEach(() => {
  cleanup();
  setSetting('closing', 'ask');
  for (const toast of [...toasts.list]) toasts.close(toast.id);
});

/** A desktop program around the page that records what it is asked. */
class FakeShell implements Shell {
  readonly asked: string[] = [];
  close: () => void = () => undefined;

  constructor(private readonly reply: ShellReply) {}

  ask(request: Parameters<Shell['ask']>[0]): Promise<ShellReply> {
    if (request.type !== 'painted' && request.type !== 'log')
      this.asked.push(request.type === 'leave' ? `leave ${request.keep}` : request.type);
    return Promise.resolve(this.reply);
  }

  onClosing(closing: () => void): () => void {
    this.close = closing;
    return () => undefined;
  }
}

it('finds a pasted job id, a queue and a key', async () => {
  const user = userEvent.setup();
  render(App);
  await waitFor(() => expect(live.canAct).toBe(true));
  await user.keyboard('{Control>}k{/Control}');
  await user.click(await screen.findByTestId('palette.input'));
  await user.paste(jobId(0x968a07));
  const job = await screen.findByText('waiting in sync');
  expect(screen.getAllByTestId('palette.found')[0]!.dataset.kind).toBe('Job');
  await user.click(job);
  expect(location.hash).toBe(`#/jobs?open=${jobId(0x968a07)}`);
});

it('keeps what toasts said behind the bell', async () => {
  const user = userEvent.setup();
  render(App);
  toasts.done('Released `a`.');
  toasts.error('Could not retry …a1b2c3.');
  toasts.error('Could not retry …a1b2c3.');
  for (const toast of [...toasts.list]) toasts.close(toast.id);
  await user.click(await screen.findByTestId('footer.bell'));
  const items = within(await screen.findByTestId('past')).getAllByTestId('past.item');
  expect(items[0]!.textContent).toContain('Could not retry');
  expect(items[0]!.textContent).toContain('×2');
  expect(items[1]!.textContent).toContain('Released');
});

it('a broker that stopped shows its last words and starts again', async () => {
  const shell = new FakeShell({ canKeep: true, log: ['ERROR the invariant "x" does not hold'] });
  Object.assign(host, { shell });
  const broken = {
    state: 'failed' as const,
    message: 'The broker stopped because of a fault.',
    remedy: 'Start it again.',
  };
  host.handlers.overview = () => overview({ broker: broken });
  const user = userEvent.setup();
  render(App);
  const page = await screen.findByTestId('failed');
  expect(page.textContent).toContain('because of a fault');
  await waitFor(() => expect(screen.getByTestId('failed.log').textContent).toContain('does not hold'));
  await user.click(screen.getByTestId('failed.restart'));
  expect(shell.asked).toContain('restart');
});

it('asks before it closes while clients are connected, and remembers the answer', async () => {
  const shell = new FakeShell({ canKeep: true, log: [] });
  Object.assign(host, { shell });
  const user = userEvent.setup();
  render(App);
  await waitFor(() => expect(live.canAct).toBe(true));
  shell.close();
  const dialog = await screen.findByTestId('closing');
  expect(dialog.textContent).toContain('Keep the broker running?');
  await user.click(screen.getByTestId('closing.keep'));
  await waitFor(() => expect(shell.asked).toEqual(['closing', 'leave true']));
  shell.close();
  await waitFor(() => expect(shell.asked).toEqual(['closing', 'leave true', 'closing', 'leave true']));
});

it('quits without a word when nobody is connected and nothing could bring the window back', async () => {
  const shell = new FakeShell({ canKeep: false, log: [] });
  Object.assign(host, { shell });
  host.handlers.overview = () => overview({ counts: { ...overview().counts, clients: 0 } });
  render(App);
  await waitFor(() => expect(live.overview?.counts.clients).toBe(0));
  shell.close();
  await waitFor(() => expect(shell.asked).toEqual(['closing', 'leave false']));
});
