// What happened and what next, at the bottom right: three at most, equal ones merged, errors until closed.

export interface ToastOffer {
  label: string;
  run: () => void;
}

export interface Toast {
  id: number;
  kind: 'done' | 'error';
  text: string;
  count: number;
  offer: ToastOffer | null;
  /** Time it stays, in ms; 0 for until closed. */
  stayMs: number;
  /** What is left of it. Stands still while the pointer or the focus is on the toast. */
  leftMs: number;
  /** Whether the offer is an undo, so that the key Z finds it. */
  undo: boolean;
}

const STEP_MS = 250;
const SHOWN_MAX = 3;
/** Time a success stays, and time an undo is offered. */
export const SUCCESS_MS = 5_000;
export const UNDO_MS = 10_000;

/** What happened, for the list behind the bell. */
export interface Past {
  id: number;
  at: number;
  kind: Toast['kind'];
  text: string;
  count: number;
}

/** Toasts that stay in the list behind the bell. */
const PAST_MAX = 100;

class Toasts {
  list = $state<Toast[]>([]);
  /** All of them, newest first, also those that have gone. */
  past = $state<Past[]>([]);
  /** The toast under the pointer or with the focus. */
  held = $state<number | null>(null);
  private nextId = 1;
  private nextPastId = 1;
  private timer: ReturnType<typeof setInterval> | undefined;

  done(text: string, offer: ToastOffer | null = null): void {
    this.add({ kind: 'done', text, offer, stayMs: SUCCESS_MS, undo: false });
  }

  undoable(text: string, run: () => void): void {
    this.add({ kind: 'done', text, offer: { label: 'Undo', run }, stayMs: UNDO_MS, undo: true });
  }

  error(text: string, offer: ToastOffer | null = null): void {
    this.add({ kind: 'error', text, offer, stayMs: 0, undo: false });
  }

  close(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
    if (this.held === id) this.held = null;
  }

  /** Takes the offer of a toast and closes it. */
  take(id: number): void {
    const toast = this.list.find((t) => t.id === id);
    this.close(id);
    toast?.offer?.run();
  }

  /** Undoes the newest thing that can be undone. */
  undoLast(): boolean {
    const toast = this.list.filter((t) => t.undo).at(-1);
    if (toast) this.take(toast.id);
    return toast !== undefined;
  }

  private add(toast: Pick<Toast, 'kind' | 'text' | 'offer' | 'stayMs' | 'undo'>): void {
    const last = this.past[0];
    if (last && last.kind === toast.kind && last.text === toast.text) {
      last.count += 1;
      last.at = Date.now();
    } else {
      const entry = { id: this.nextPastId++, at: Date.now(), kind: toast.kind, text: toast.text, count: 1 };
      this.past = [entry, ...this.past].slice(0, PAST_MAX);
    }
    const same = this.list.find((t) => t.kind === toast.kind && t.text === toast.text && !t.undo && !toast.undo);
    if (same) {
      same.count += 1;
      same.leftMs = same.stayMs;
      same.offer = toast.offer;
    } else {
      const entry = { ...toast, id: this.nextId++, count: 1, leftMs: toast.stayMs };
      this.list = [...this.list, entry].slice(-SHOWN_MAX);
    }
    this.timer ??= setInterval(() => this.step(), STEP_MS);
  }

  private step(): void {
    for (const toast of this.list) {
      if (toast.stayMs > 0 && toast.id !== this.held) toast.leftMs -= STEP_MS;
    }
    if (this.list.some((t) => t.stayMs > 0 && t.leftMs <= 0)) {
      this.list = this.list.filter((t) => t.stayMs === 0 || t.leftMs > 0);
    }
    if (this.list.length === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
  }
}

export const toasts = new Toasts();
