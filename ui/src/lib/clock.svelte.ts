// The broker's clock, as this window knows it, and the two ticks that make countdowns move without any traffic.
// A cell reads `quarter()` only below ten seconds; all others wake up once a second.

/** How far the broker's clock is ahead of the window's, in ms. */
let offset = 0;
let known = false;

const tick = $state({ second: Date.now(), quarter: Date.now() });

/** Learns from a `now` that the broker sent. Answers travel, so the largest offset seen is the truest one. */
export function learnClock(brokerNow: number): void {
  const seen = brokerNow - Date.now();
  if (!known || seen > offset || offset - seen > 2000) {
    offset = seen;
    known = true;
    step();
  }
}

/** The broker's time now, in ms; not reactive. */
export function brokerNow(): number {
  return Date.now() + offset;
}

/** The broker's time, renewed once a second. */
export function second(): number {
  return tick.second;
}

/** The broker's time, renewed four times a second. */
export function quarter(): number {
  return tick.quarter;
}

/** Starts the ticks. Returns the way to stop. */
export function startClock(): () => void {
  const timer = setInterval(step, 250);
  return () => clearInterval(timer);
}

function step(): void {
  const now = brokerNow();
  tick.quarter = now;
  if (now - tick.second >= 1000 || now < tick.second) tick.second = now;
}
