// The playground's screen: what it sends, that it looks only while the clock runs, and that it works without a mouse.
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it } from 'vitest';
import App from '../App.svelte';
import type { LaneStrategy } from '../bindings/LaneStrategy';
import type { PlaygroundAct } from '../bindings/PlaygroundAct';
import type { PlaygroundView } from '../bindings/PlaygroundView';
import { composer } from '../lib/composer.svelte';
import { toasts } from '../lib/toasts.svelte';
import { HostError } from '../platform';
import { FakeHost } from '../test/fakeHost';
import { playLane, playRun, playScenario, playView } from '../test/playground';
import { play } from './play.svelte';
import { sharedScenario } from './share';
import { draftOf } from './strategies';

const other = playScenario({ id: 'double-click', title: 'Double click on Pay', text: ['One.', 'Two.', 'Three.'] });
const created = {
  t: 300,
  v: 1,
  decision: 'created' as const,
  chip: 'created' as const,
  warn: false,
  why: 'Created. No live job held `my-key`.',
  job: 'a',
  follows: false,
};
const returned = {
  ...created,
  t: 900,
  v: 2,
  decision: 'existing.key' as const,
  chip: 'returned' as const,
  why: 'Returned the owner.',
};
let view: PlaygroundView;
let host: FakeHost;

beforeEach(() => {
  sessionStorage.clear();
  localStorage.clear();
  location.hash = '#/playground';
  play.run = null;
  play.view = null;
  play.lane = null;
  const lanes = [playLane({ adds: [created, returned], held: 1 }), playLane({ title: 'replace', ready: 1 })];
  view = playView({ run: playRun({ lanes, newestV: 2 }) });
  host = new FakeHost({
    scenarios: () => ({ scenarios: [other, playScenario()] }),
    playground: () => view,
  });
});
afterEach(() => {
  cleanup();
  for (const toast of [...toasts.list]) toasts.close(toast.id);
});

const acts = () => host.sent('playground').map((request) => request.act);
const done = (name: PlaygroundAct['do']) => acts().filter((act) => act.do === name);

async function open() {
  render(App);
  await screen.findAllByTestId('playground.lane');
  await waitFor(() => expect(location.hash).toContain('s=custom'));
}

it('works by keys alone, and never while something is typed', async () => {
  const user = userEvent.setup();
  await open();
  await user.keyboard(' sw0');
  await user.keyboard('2');
  await user.keyboard('cf');
  await waitFor(() => expect(done('work')).toHaveLength(3));
  expect(acts().slice(1)).toEqual([
    { do: 'add', v: null, key: null, queue: null },
    { do: 'step' },
    { do: 'work', lane: null, what: 'pickUp' },
    { do: 'reset' },
    { do: 'work', lane: 1, what: 'complete' },
    { do: 'work', lane: 1, what: 'fail' },
  ]);
  await user.type(screen.getByTestId('playground.key'), 's w0');
  expect(acts()).toHaveLength(7);
  await user.keyboard('{Escape}');
});

it('sends what is written beside the button', async () => {
  const user = userEvent.setup();
  await open();
  await user.type(screen.getByTestId('playground.v'), '7');
  await user.type(screen.getByTestId('playground.key'), 'other');
  await user.type(screen.getByTestId('playground.queue'), 'mail');
  await user.click(screen.getByTestId('playground.add'));
  await waitFor(() => expect(done('add')).toEqual([{ do: 'add', v: 7, key: 'other', queue: 'mail' }]));
  await user.clear(screen.getByTestId('playground.v'));
  await user.type(screen.getByTestId('playground.v'), 'x');
  await user.click(screen.getByTestId('playground.add'));
  expect(toasts.list[0]?.text).toContain('data v:');
  expect(done('add')).toHaveLength(1);
});

it('a button pressed with the mouse leaves Space to the add', async () => {
  const user = userEvent.setup();
  await open();
  await user.click(screen.getByTestId('playground.reset'));
  await user.keyboard(' ');
  await waitFor(() => expect(done('add')).toHaveLength(1));
  expect(done('reset')).toHaveLength(1);
});

it('a held key adds no faster than the answers come', async () => {
  await open();
  const slow = () => new Promise<PlaygroundView>((answer) => setTimeout(() => answer(view), 100));
  host.handlers.playground = slow as never;
  for (let n = 0; n < 5; n += 1) await fireEvent.keyDown(document.body, { key: ' ', repeat: true });
  await waitFor(() => expect(done('add')).toHaveLength(1));
  await waitFor(() => expect(play.isBusy).toBe(false));
  await fireEvent.keyDown(document.body, { key: ' ', repeat: true });
  await waitFor(() => expect(done('add')).toHaveLength(2));
});

it('G and its letter go elsewhere and touch no worker', async () => {
  const user = userEvent.setup();
  await open();
  await user.keyboard('gc');
  await waitFor(() => expect(screen.getByTestId('screen').dataset.screen).toBe('clients'));
  expect(done('work')).toEqual([]);
  await user.keyboard('gp');
  await waitFor(() => expect(screen.getByTestId('screen').dataset.screen).toBe('playground'));
});

it('looks again only while the clock runs, and asks for the content only when it is new', async () => {
  await open();
  await new Promise((resolve) => setTimeout(resolve, 350));
  expect(acts()).toHaveLength(1);
  view = { ...view, clock: 'running', revision: 5 };
  await fireEvent.click(screen.getByTestId('playground.run'));
  view = { ...view, run: null, tMs: 800 };
  await waitFor(() => expect(done('look').length).toBeGreaterThan(3));
  expect(done('look').at(-1)).toEqual({ do: 'look', since: 5 });
  expect(screen.getAllByTestId('playground.lane')).toHaveLength(2);
  view = { ...view, clock: 'done' };
  await waitFor(() => expect(screen.getByTestId('playground.run').textContent).toContain('Run again'));
  const looks = done('look').length;
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(done('look').length).toBe(looks);
});

it('arrow keys walk through a picture and the sentence follows', async () => {
  const user = userEvent.setup();
  await open();
  const [first, second] = screen.getAllByTestId('playground.picture');
  first!.focus();
  await user.keyboard('{ArrowRight}');
  const said = screen.getByTestId('playground.said');
  expect(said.textContent).toContain('No live job held');
  expect(said.textContent).toContain('t=0.3 s');
  await user.keyboard('{ArrowRight}');
  expect(said.textContent).toContain('Returned the owner.');
  await user.keyboard('{ArrowDown}');
  await waitFor(() => expect(document.activeElement).toBe(second));
});

it('the same is there as a table', async () => {
  const user = userEvent.setup();
  await open();
  await user.click(screen.getByTestId('playground.tables'));
  const [table] = await screen.findAllByTestId('playground.table');
  expect(within(table!).getAllByRole('row')).toHaveLength(3);
  expect(table!.textContent).toContain('returned');
});

it('another strategy starts the run anew, with the window it needs', async () => {
  const user = userEvent.setup();
  await open();
  await user.selectOptions(screen.getAllByTestId('playground.strategy')[1]!, 'jobId');
  await user.selectOptions(screen.getAllByTestId('playground.strategy')[0]!, 'extend');
  const loaded = done('load').map((act) => act.do === 'load' && act.scenario.lanes);
  expect(loaded).toEqual([
    [
      { strategy: 'plain', ttlMs: null, delayMs: 0 },
      { strategy: 'jobId', ttlMs: null, delayMs: 0 },
    ],
    [
      { strategy: 'extend', ttlMs: 3_000, delayMs: 0 },
      { strategy: 'plain', ttlMs: null, delayMs: 0 },
    ],
  ]);
});

it('a strategy is taken over into the composer', async () => {
  const user = userEvent.setup();
  await open();
  await user.selectOptions(screen.getAllByTestId('playground.strategy')[0]!, 'extend');
  await user.click(screen.getAllByTestId('playground.use')[0]!);
  expect(composer.open).toBe(true);
  expect(composer.draft).toMatchObject({ queue: 'playground', dedupId: 'my-key', ttlMs: null, replace: false });
  await user.keyboard(' ');
  expect(done('add')).toEqual([]);
  composer.open = false;
});

it('each strategy is the add that it stands for', () => {
  const draft = (strategy: LaneStrategy, ttlMs: number | null = null) =>
    draftOf({ strategy, ttlMs, delayMs: 0 }, playScenario());
  expect(draft('none')).toMatchObject({ jobId: null, dedupId: null, dedupHash: false });
  expect(draft('jobId')).toMatchObject({ jobId: 'my-key', dedupId: null });
  expect(draft('ttl', 500)).toMatchObject({ dedupId: 'my-key', ttlMs: 500, extend: false, replace: false });
  expect(draft('extendReplace', 500)).toMatchObject({ extend: true, replace: true });
  expect(draft('hash')).toMatchObject({ dedupId: null, dedupHash: true });
  expect(draft('keepLast')).toMatchObject({ dedupId: 'my-key', keepLastIfActive: true });
});

it('a link opens its scenario', async () => {
  location.hash = '#/playground?s=double-click';
  host.handlers.playground = ({ act }) =>
    (view = act.do === 'load' ? playView({ run: playRun({}, act.scenario) }) : view);
  render(App);
  await waitFor(() => expect(done('load')).toEqual([{ do: 'load', scenario: other }]));
  await waitFor(() => expect(screen.getByTestId('playground.text').textContent).toContain('Which option to take'));
  expect(location.hash).toContain('s=double-click');
});

it('says what a refused file lacks, and keeps the run', async () => {
  await open();
  host.handlers.playground = ({ act }) => {
    if (act.do === 'open') throw new HostError('badRequest', 'Not a scenario: EOF.');
    return view;
  };
  const file = new File(['{'], 'broken.json', { type: 'application/json' });
  await fireEvent.drop(screen.getByTestId('playground'), { dataTransfer: { files: [file] } });
  await waitFor(() => expect(toasts.list[0]?.text).toBe('Not a scenario: EOF.'));
  expect(done('open')).toEqual([{ do: 'open', text: '{' }]);
  expect(screen.queryByTestId('playground.trouble')).toBeNull();
});

it('says when the program does not answer, and tries again', async () => {
  host.handlers.playground = () => {
    throw new HostError('unreachable', 'The broker does not answer.');
  };
  render(App);
  expect((await screen.findByTestId('playground.trouble')).textContent).toContain('The broker does not answer.');
  host.handlers.playground = () => view;
  await screen.findAllByTestId('playground.lane', {}, { timeout: 2_500 });
  expect(screen.queryByTestId('playground.trouble')).toBeNull();
});

it('what was done by hand is part of what is shared', () => {
  const played = [{ atMs: 200, act: { do: 'add' as const, v: 1, key: null, queue: null }, note: null }];
  expect(sharedScenario(playRun())).toEqual(playScenario());
  expect(sharedScenario(playRun({ played }))).toMatchObject({ id: 'my-custom', script: played, lengthMs: 3_200 });
});
