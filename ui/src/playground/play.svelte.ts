// This window's run in the playground: asks the broker's program how it stands, sends what the user does, and keeps a clock
// between two answers. The run itself lives in the program; it stands still while nobody looks.
import type { LaneSpec } from '../bindings/LaneSpec';
import type { PlaygroundAct } from '../bindings/PlaygroundAct';
import type { PlaygroundView } from '../bindings/PlaygroundView';
import type { PlayRun } from '../bindings/PlayRun';
import type { Scenario } from '../bindings/Scenario';
import type { WorkerMove } from '../bindings/WorkerMove';
import type { WorkerSpec } from '../bindings/WorkerSpec';
import { HostError, theHost } from '../platform';
import { toasts } from '../lib/toasts.svelte';

/** Pause between two looks while the clock runs, in ms. */
const LOOK_MS = 100;
/** Pause before another try when the program does not answer, in ms. */
const RETRY_MS = 1_000;
/** The picture runs ahead of the last answer by this much at most, in ms. */
const AHEAD_MS = 250;
/** Pause between two pictures at least, in ms: twenty a second look smooth. */
const FRAME_MS = 50;
/** The part of the window's time that pictures may take; where one takes long, there are fewer of them. */
const FRAME_SHARE = 0.25;
const NAME_KEY = 'onceover.playground';

export type LaneChoice = number | null;

class Play {
  view = $state.raw<PlaygroundView | null>(null);
  run = $state.raw<PlayRun | null>(null);
  scenarios = $state.raw<Scenario[]>([]);
  /** Where the clock stands, moved on between two answers. */
  t = $state(0);
  /** The lane that the worker's buttons mean; null for all. */
  lane = $state<LaneChoice>(null);
  /** Why the last look failed. */
  trouble = $state<string | null>(null);

  private queue: Promise<unknown> = Promise.resolve();
  /** Requests that have no answer yet. */
  private waiting = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private frame = 0;
  /** The next picture is not drawn before, on the clock of `performance.now`. */
  private drawsAt = 0;
  private answeredAt = 0;
  private open = false;

  get isRunning(): boolean {
    return this.view?.clock === 'running';
  }

  /** Whether an answer is still to come. */
  get isBusy(): boolean {
    return this.waiting > 0;
  }

  /** Looks from now on. Returns the way to stop. */
  start(): () => void {
    this.open = true;
    void this.loadScenarios();
    void this.act({ do: 'look', since: null });
    return () => {
      this.open = false;
      clearTimeout(this.timer);
      cancelAnimationFrame(this.frame);
    };
  }

  /** One thing after another, so that answers come in order. True when it was done. */
  act(act: PlaygroundAct): Promise<boolean> {
    this.waiting += 1;
    const done = this.queue.then(() => this.ask(act));
    this.queue = done;
    return done;
  }

  toggle(): Promise<boolean> {
    return this.act({ do: this.isRunning ? 'pause' : 'run' });
  }

  add(v: number | null, key: string | null, queue: string | null): Promise<boolean> {
    return this.act({ do: 'add', v, key, queue });
  }

  work(what: WorkerMove): Promise<boolean> {
    return this.act({ do: 'work', lane: this.lane, what });
  }

  setWorker(worker: WorkerSpec): Promise<boolean> {
    return this.act({ do: 'setWorker', worker });
  }

  /** Other lanes start at the beginning: only then have all of them seen the same. */
  setLanes(lanes: LaneSpec[]): void {
    if (!this.run) return;
    if (this.lane !== null && this.lane >= lanes.length) this.lane = null;
    void this.act({ do: 'load', scenario: { ...this.run.scenario, lanes } });
  }

  chooseLane(lane: number): void {
    if (lane >= (this.run?.lanes.length ?? 0)) return;
    this.lane = this.lane === lane ? null : lane;
  }

  private async loadScenarios(): Promise<void> {
    if (this.scenarios.length > 0) return;
    try {
      this.scenarios = (await theHost().rpc({ type: 'scenarios' })).scenarios;
    } catch {
      // The look beside it says what is wrong, and tries again.
    }
  }

  private async ask(act: PlaygroundAct): Promise<boolean> {
    clearTimeout(this.timer);
    try {
      const view = await theHost().rpc({ type: 'playground', session: sessionName(), act });
      this.waiting -= 1;
      // While a key is held down, the answers between need not be drawn one by one.
      if (this.waiting === 0 || performance.now() - this.answeredAt >= LOOK_MS) this.take(view);
      this.trouble = null;
      if (this.scenarios.length === 0) void this.loadScenarios();
      if (this.isRunning) this.later(LOOK_MS);
      return true;
    } catch (reason) {
      this.waiting -= 1;
      const text = reason instanceof Error ? reason.message : String(reason);
      const refused = reason instanceof HostError && reason.code === 'badRequest';
      if (act.do !== 'look') toasts.error(text);
      if (!refused) this.trouble = text;
      this.later(refused ? LOOK_MS : RETRY_MS);
      return false;
    }
  }

  private later(ms: number): void {
    if (!this.open) return;
    this.timer = setTimeout(() => void this.act({ do: 'look', since: this.view?.revision ?? null }), ms);
  }

  private take(view: PlaygroundView): void {
    this.view = view;
    if (view.run) this.run = this.run ? keepKnown(this.run, view.run) : view.run;
    this.answeredAt = performance.now();
    cancelAnimationFrame(this.frame);
    // The picture may be ahead of the answer by its way here; it waits then, and does not go back.
    const ahead = this.t - view.tMs;
    if (view.clock !== 'running' || ahead < 0 || ahead > AHEAD_MS * view.speed) this.t = view.tMs;
    if (view.clock === 'running' && !matchMedia('(prefers-reduced-motion: reduce)').matches) this.animate();
  }

  private animate(): void {
    this.frame = requestAnimationFrame((now) => {
      const view = this.view;
      if (!this.open || view?.clock !== 'running') return;
      if (now >= this.drawsAt) this.draw(now, view);
      this.animate();
    });
  }

  private draw(now: number, view: PlaygroundView): void {
    const ahead = Math.min(performance.now() - this.answeredAt, AHEAD_MS) * view.speed;
    const end = this.run?.scenario.lengthMs || Infinity;
    this.t = Math.max(this.t, Math.min(view.tMs + ahead, Math.max(end, view.tMs)));
    this.drawsAt = now + FRAME_MS;
    afterPainting(() => {
      this.drawsAt = now + Math.max(FRAME_MS, (performance.now() - now) / FRAME_SHARE);
    });
  }
}

/** Calls back when the picture of this frame is painted: a message is handled after it. */
function afterPainting(done: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    done();
  };
  port2.postMessage(null);
}

/** What was said already stays the same object, so that only what is new is drawn. */
function keepKnown(before: PlayRun, run: PlayRun): PlayRun {
  const keep = <T extends { t: number }>(old: T[], fresh: T[], same: (a: T, b: T) => boolean) =>
    fresh.map((one, i) => (old[i] && old[i].t === one.t && same(old[i], one) ? old[i] : one));
  const known = new Map(before.lines.map((line) => [line.n, line]));
  const lines = run.lines.map((line) => {
    const old = known.get(line.n);
    return old && old.t === line.t && old.lane === line.lane && old.text === line.text ? old : line;
  });
  const lanes = run.lanes.map((lane, i) => {
    const adds = keep(
      before.lanes[i]?.adds ?? [],
      lane.adds,
      (a, b) => a.why === b.why && a.v === b.v && a.chip === b.chip,
    );
    return { ...lane, adds };
  });
  return { ...run, lines, lanes };
}

export const play = new Play();

/** The name of this window's run. It survives a reload of the page, but not the window. */
function sessionName(): string {
  let name = sessionStorage.getItem(NAME_KEY);
  if (!name) {
    name = Array.from(crypto.getRandomValues(new Uint32Array(3)), (part) => part.toString(36)).join('-');
    sessionStorage.setItem(NAME_KEY, name);
  }
  return name;
}

/** Presentation: no navigation, larger type. */
export const presentation = $state({ on: false });
