// The link to the broker and what is known of it: connected or not, live or paused, the overview.
// A change hint only says that something is different; screens ask again for what they show, at their own pace.
import { untrack } from 'svelte';
import type { Overview } from '../bindings/Overview';
import { HostError, theHost, type ActionRequest, type Link, type ReplyTo } from '../platform';
import type { Request } from '../bindings/Request';
import { learnClock } from './clock.svelte';

/** Least time between two overviews, in ms. Counts beside the navigation need not be faster. */
const OVERVIEW_EVERY_MS = 250;
/** Time between two overviews while nothing happens, in ms. */
const OVERVIEW_IDLE_MS = 1_000;

class Live {
  link = $state<Link>({ state: 'connected' });
  paused = $state(false);
  /** Counts the reasons to ask again. Stands still while paused. */
  pulse = $state(0);
  overview = $state.raw<Overview | null>(null);
  /** Adds counted when the window was paused. */
  pausedAtAdds = $state(0);

  private newest = 0;
  private overviewTimer: ReturnType<typeof setTimeout> | undefined;
  private overviewAt = 0;
  private overviewBusy = false;

  get connected(): boolean {
    return this.link.state === 'connected';
  }

  /** Whether this window may only look: then actions are absent, not disabled. */
  get readOnly(): boolean {
    return this.overview?.readOnly ?? false;
  }

  /** Whether actions are possible at all. A broker that no client can reach still runs and takes them. */
  get canAct(): boolean {
    const state = this.overview?.broker.state;
    const runs = state === 'listening' || state === 'portTaken' || state === 'notListening';
    return this.connected && runs && !this.readOnly;
  }

  /** Listens to the host. Returns the way to stop. */
  start(): () => void {
    const stop = theHost().onChanged(
      (hint) => {
        learnClock(hint.now);
        this.newest = hint.revision;
        this.askOverview();
        if (!this.paused) this.pulse += 1;
      },
      (link) => {
        this.link = link;
        // Also the first time: something may have changed between the first answers and this moment.
        if (link.state === 'connected') this.refreshAll();
      },
    );
    this.askOverview();
    // Some of what it counts comes by time alone: a worker that has been silent for too long changes nothing.
    const timer = setInterval(() => document.hidden || this.askOverview(), OVERVIEW_IDLE_MS);
    return () => {
      stop();
      clearInterval(timer);
      clearTimeout(this.overviewTimer);
      this.overviewTimer = undefined;
    };
  }

  setPaused(paused: boolean): void {
    this.paused = paused;
    this.pausedAtAdds = this.overview?.counts.adds ?? 0;
    if (!paused) this.refreshAll();
  }

  /** Asks again for everything on the screen, unless it is paused. */
  refreshAll(): void {
    if (!this.paused) this.pulse += 1;
    this.askOverview();
  }

  private askOverview(): void {
    if (this.overviewTimer !== undefined || this.overviewBusy) return;
    const wait = Math.max(0, this.overviewAt + OVERVIEW_EVERY_MS - Date.now());
    this.overviewTimer = setTimeout(() => void this.loadOverview(), wait);
  }

  private async loadOverview(): Promise<void> {
    this.overviewTimer = undefined;
    this.overviewBusy = true;
    const asked = this.newest;
    try {
      this.overview = await ask({ type: 'overview' });
    } catch {
      // The link tells why; the last overview stays.
    }
    this.overviewAt = Date.now();
    this.overviewBusy = false;
    if (this.newest !== asked) this.askOverview();
  }
}

export const live = new Live();

/** Adds a second above which lists are renewed less often, and how often then, in ms. */
const BUSY_PER_S = 2000;
const BUSY_EVERY_MS = 250;
/** A question that takes long is asked so many times its own time apart. */
const REST_PER_WORK = 4;
/** Never longer apart than this, in ms: a question also seems long when the machine slept in the middle of it. */
const RENEWED_WITHIN_MS = 1_000;

/** How long to wait between two renewals of a list that wants one every `everyMs` and whose last one took `tookMs`. */
export function renewalPause(everyMs: number, tookMs: number): number {
  const busy = (live.overview?.addsPerS ?? 0) > BUSY_PER_S ? BUSY_EVERY_MS : 0;
  return Math.max(everyMs, busy, Math.min(REST_PER_WORK * tookMs, RENEWED_WITHIN_MS));
}

/** Asks the host and learns its clock on the way. */
export async function ask<R extends Request>(request: R): Promise<ReplyTo<R['type']>> {
  try {
    const reply = await theHost().rpc(request);
    if ('now' in reply) learnClock(reply.now);
    return reply;
  } catch (reason) {
    if (reason instanceof HostError && reason.code === 'unauthorized') live.link = { state: 'unauthorized' };
    throw reason;
  }
}

/** Runs an action, then shows its effect at once instead of with the next hint. */
export async function act<R extends ActionRequest>(request: R): Promise<ReplyTo<R['type']>> {
  const result = await ask(request);
  live.refreshAll();
  return result;
}

/** Runs `run` on every pulse, at most once in `minMs`, for as long as the calling component lives. */
export function followPulse(minMs: number | (() => number), run: () => void): void {
  const pause = typeof minMs === 'number' ? () => minMs : minMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ranAt = 0;
  let seen = untrack(() => live.pulse);
  $effect(() => {
    if (live.pulse === seen || timer !== undefined) return;
    const fire = () => {
      timer = undefined;
      ranAt = Date.now();
      seen = live.pulse;
      run();
    };
    timer = setTimeout(fire, Math.max(0, ranAt + untrack(pause) - Date.now()));
  });
  $effect(() => () => clearTimeout(timer));
}
