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
  private timer: ReturnType<typeof setTimeout> | undefined;
  private frame = 0;
  private answeredAt = 0;
  private open = false;

  get isRunning(): boolean {
    return this.view?.clock === 'running';
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
      this.take(await theHost().rpc({ type: 'playground', session: sessionName(), act }));
      this.trouble = null;
      if (this.scenarios.length === 0) void this.loadScenarios();
      if (this.isRunning) this.later(LOOK_MS);
      return true;
    } catch (reason) {
      const text = reason instanceof Error ? reason.message : String(reason);
      const refused = reason instanceof HostError && reason.code === 'badRequest';
      if (act.do !== 'look') toasts.error(text);
      if (!refused) this.trouble = text;
      if (!refused || this.isRunning) this.later(refused ? LOOK_MS : RETRY_MS);
      return false;
    }
  }

  private later(ms: number): void {
    if (!this.open) return;
    this.timer = setTimeout(() => void this.act({ do: 'look', since: this.view?.revision ?? null }), ms);
  }

  private take(view: PlaygroundView): void {
    this.view = view;
    if (view.run) this.run = view.run;
    this.answeredAt = performance.now();
    cancelAnimationFrame(this.frame);
    this.t = view.tMs;
    if (view.clock === 'running' && !matchMedia('(prefers-reduced-motion: reduce)').matches) this.animate();
  }

  private animate(): void {
    this.frame = requestAnimationFrame(() => {
      const view = this.view;
      if (!this.open || view?.clock !== 'running') return;
      const ahead = Math.min(performance.now() - this.answeredAt, AHEAD_MS) * view.speed;
      const end = this.run?.scenario.lengthMs || Infinity;
      this.t = Math.max(this.t, Math.min(view.tMs + ahead, Math.max(end, view.tMs)));
      this.animate();
    });
  }
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
