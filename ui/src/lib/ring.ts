// The ring of a key's window: how much of it is drawn and in which colour.

/** Circumference of the ring with radius 7. */
export const RING_LENGTH = 2 * Math.PI * 7;

/** Below this many ms the ring warns. */
export const LOW_MS = 10_000;

export interface RingState {
  /** `none`: no TTL. `low`: about to end. */
  kind: 'none' | 'run' | 'low';
  /** Part that is left, 0 to 1. Full is the whole TTL. */
  fraction: number;
}

/** A window without a known length counts as full while it runs. */
export function ringState(leftMs: number | null, ttlMs: number | null): RingState {
  if (leftMs === null) return { kind: 'none', fraction: 0 };
  const whole = ttlMs && ttlMs > 0 ? ttlMs : leftMs;
  const fraction = whole > 0 ? Math.min(1, Math.max(0, leftMs / whole)) : 0;
  return { kind: leftMs < LOW_MS ? 'low' : 'run', fraction };
}
