// Durations as people type them: `500`, `60 s`, `1h`, `1 m 30 s`. A bare number is milliseconds.

const UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  sec: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const WHOLE = /^(\d+(?:[.,]\d+)?\s*(?:[a-z]+\s*)?)+$/i;
const PART = /(\d+(?:[.,]\d+)?)\s*([a-z]*)/gi;

/** The milliseconds that a text says; null when it says none. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim();
  if (!WHOLE.test(trimmed)) return null;
  const parts = [...trimmed.matchAll(PART)];
  let total = 0;
  for (const [, digits = '', unit = ''] of parts) {
    const factor = unit === '' && parts.length === 1 ? 1 : UNITS[unit.toLowerCase()];
    if (factor === undefined) return null;
    total += Number(digits.replace(',', '.')) * factor;
  }
  const ms = Math.round(total);
  return Number.isSafeInteger(ms) ? ms : null;
}

/** A duration as it is typed, exact to the millisecond. */
export function formatDuration(ms: number): string {
  for (const [unit, factor] of [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ] as const) {
    // 60 s and 24 h are read more easily than 1 min and 1 d, and are what people write.
    if (ms >= factor && ms % factor === 0 && (ms > factor || unit === 's' || unit === 'h'))
      return `${ms / factor} ${unit}`;
  }
  return `${ms} ms`;
}
