// The browser's door: what happens to the token, how refusals arrive, and how a broken stream is opened anew.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { httpHost } from './http';
import type { Link } from './types';

class FakeEvents {
  static all: FakeEvents[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onerror: (() => void) | null = null;
  closed = false;
  constructor(readonly url: string) {
    FakeEvents.all.push(this);
  }
  close(): void {
    this.closed = true;
  }
}

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });
let answers: Record<string, () => Promise<Response>>;
let asked: { path: string; body: unknown }[];

beforeEach(() => {
  FakeEvents.all = [];
  asked = [];
  answers = {
    '/session': () => Promise.resolve(json({})),
    '/rpc': () => Promise.resolve(json({ revision: 1, now: 1, rows: [] })),
  };
  vi.stubGlobal('EventSource', FakeEvents);
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
    asked.push({ path, body: JSON.parse(init.body as string) });
    return answers[path]!();
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
  location.hash = '';
});

it('trades the token once, before anything else, and takes it out of the address', async () => {
  location.hash = '#token=se%2Bcret';
  const host = httpHost();
  expect(location.hash).toBe('');
  await host.rpc({ type: 'queues' });
  await host.rpc({ type: 'queues' });
  expect(asked).toEqual([
    { path: '/session', body: { token: 'se+cret' } },
    { path: '/rpc', body: { type: 'queues' } },
    { path: '/rpc', body: { type: 'queues' } },
  ]);
});

it('leaves a place in the address alone', async () => {
  location.hash = '#/keys';
  await httpHost().rpc({ type: 'queues' });
  expect(location.hash).toBe('#/keys');
  expect(asked.map((a) => a.path)).toEqual(['/rpc']);
});

it.each([
  [() => Promise.resolve(json({ code: 'notFound', message: 'No such job.' }, 404)), 'notFound', 'No such job.'],
  [
    () => Promise.resolve(new Response('', { status: 401 })),
    'unauthorized',
    'This page has no session with the broker.',
  ],
  [() => Promise.resolve(new Response('x', { status: 502 })), 'internal', 'The broker answered with HTTP status 502.'],
  [() => Promise.reject(new TypeError('failed')), 'unreachable', expect.stringContaining('does not answer')],
])('a refusal arrives with its code (%#)', async (answer, code, message) => {
  answers['/rpc'] = answer;
  await expect(httpHost().rpc({ type: 'queues' })).rejects.toMatchObject({ code, message });
  expect(asked).toHaveLength(1);
});

it('opens a broken stream again and says since when it is broken', async () => {
  vi.useFakeTimers();
  const links: Link[] = [];
  const hints: number[] = [];
  httpHost().onChanged(
    (hint) => hints.push(hint.revision),
    (link) => links.push(link),
  );
  await vi.advanceTimersByTimeAsync(0);
  FakeEvents.all[0]!.onopen!();
  FakeEvents.all[0]!.onmessage!({ data: '{"revision": 7, "now": 1}' });
  answers['/rpc'] = () => Promise.reject(new TypeError('failed'));
  FakeEvents.all[0]!.onerror!();
  await vi.advanceTimersByTimeAsync(600);
  FakeEvents.all[1]!.onerror!();
  await vi.advanceTimersByTimeAsync(1100);
  FakeEvents.all[2]!.onopen!();
  expect(hints).toEqual([7]);
  expect(links.map((link) => link.state)).toEqual(['connected', 'lost', 'lost', 'connected']);
  expect(links[1]).toMatchObject({ attempts: 0 });
  expect(links[2]).toMatchObject({ attempts: 1, since: (links[1] as { since: number }).since });
  expect(FakeEvents.all.slice(0, 2).every((events) => events.closed)).toBe(true);
});

it('a missing session is not a missing broker', async () => {
  answers['/rpc'] = () => Promise.resolve(new Response('', { status: 401 }));
  const links: Link[] = [];
  httpHost().onChanged(
    () => undefined,
    (link) => links.push(link),
  );
  await vi.waitFor(() => expect(FakeEvents.all).toHaveLength(1));
  FakeEvents.all[0]!.onerror!();
  await vi.waitFor(() => expect(links).toEqual([{ state: 'unauthorized' }]));
});
