// The browser's door: POST /rpc for requests, server-sent events at GET /changes for hints, and a session cookie that
// POST /session gives once for the token in the printed link. The token leaves the address bar at once and is kept nowhere.
import type { Changed } from '../bindings/Changed';
import type { Failure } from '../bindings/Failure';
import { HostError, type Host, type Link } from './types';

/** Waits between attempts to reach the broker again, in ms; the last one repeats. */
const RETRY_MS = [500, 1000, 2000, 3000, 5000];

export function httpHost(): Host {
  const session = openSession();
  // The printed link pasted into a page that is open already only changes the fragment.
  addEventListener('hashchange', () => {
    if (tokenInAddress()) void openSession().then(() => location.reload());
  });
  return {
    async rpc(request) {
      await session;
      const response = await post('/rpc', request);
      if (response.ok) return response.json();
      throw await failureOf(response);
    },
    onChanged(changed, link) {
      const feed = new Feed(changed, link);
      void session.then(() => feed.open());
      return () => feed.stop();
    },
  };
}

function tokenInAddress(): string | undefined {
  return /^#token=([^&]+)/.exec(location.hash)?.[1];
}

/** Trades the token in the fragment for the session cookie. Without a token an earlier cookie may still do. */
async function openSession(): Promise<void> {
  const token = tokenInAddress();
  if (!token) return;
  history.replaceState(null, '', location.pathname + location.search);
  // A refused or failed exchange shows itself at the first request, as 401 or as an unreachable broker.
  await post('/session', { token: decodeURIComponent(token) }).catch(() => undefined);
}

async function post(path: string, body: unknown): Promise<Response> {
  try {
    return await fetch(path, {
      method: 'POST',
      credentials: 'same-origin',
      cache: 'no-store',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  } catch {
    throw new HostError(
      'unreachable',
      'The broker does not answer. Nothing is known about what became of the request.',
    );
  }
}

async function failureOf(response: Response): Promise<HostError> {
  const failure = (await response.json().catch(() => null)) as Failure | null;
  if (failure?.code) return new HostError(failure.code, failure.message);
  if (response.status === 401) return new HostError('unauthorized', 'This page has no session with the broker.');
  return new HostError('internal', `The broker answered with HTTP status ${response.status}.`);
}

/** The stream of change hints, opened anew whenever it breaks. */
class Feed {
  private source: EventSource | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private since = 0;
  private attempts = 0;
  private stopped = false;

  constructor(
    private readonly changed: (hint: Changed) => void,
    private readonly link: (link: Link) => void,
  ) {}

  open(): void {
    if (this.stopped) return;
    const source = new EventSource('/changes');
    this.source = source;
    source.onopen = () => {
      this.since = 0;
      this.attempts = 0;
      this.link({ state: 'connected' });
    };
    source.onmessage = (event) => this.changed(JSON.parse(event.data as string) as Changed);
    source.onerror = () => void this.lost(source);
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.source?.close();
  }

  /** An event source hides the status, so one request tells a missing session from a missing broker. */
  private async lost(source: EventSource): Promise<void> {
    source.close();
    this.since ||= Date.now();
    const status = await post('/rpc', { type: 'overview' }).then(
      (response) => response.status,
      () => 0,
    );
    if (this.stopped) return;
    if (status === 401 || status === 403) {
      this.link({ state: 'unauthorized' });
      return;
    }
    this.link({ state: 'lost', since: this.since, attempts: this.attempts });
    const wait = RETRY_MS[Math.min(this.attempts, RETRY_MS.length - 1)];
    this.attempts += 1;
    this.timer = setTimeout(() => this.open(), wait);
  }
}
