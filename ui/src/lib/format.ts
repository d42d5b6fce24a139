// Times, numbers and texts as they stand in cells. Pure functions: the caller passes the clock.
// Payloads and sentences do not pass through here; they arrive finished from the broker.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const pad = (n: number, digits = 2) => String(n).padStart(digits, '0');

/** A duration in ms: `0.4 s`, `41 s`, `3 m 08 s`, `2 h 05 m`, `5 d 4 h`. Two parts at most, always with unit. */
export function duration(ms: number): string {
  const abs = Math.max(0, ms);
  if (abs < 10 * SECOND) return `${(Math.floor(abs / 100) / 10).toFixed(1)} s`;
  if (abs < MINUTE) return `${Math.floor(abs / SECOND)} s`;
  if (abs < HOUR) return `${Math.floor(abs / MINUTE)} m ${pad(Math.floor((abs % MINUTE) / SECOND))} s`;
  if (abs < DAY) return `${Math.floor(abs / HOUR)} h ${pad(Math.floor((abs % HOUR) / MINUTE))} m`;
  return `${Math.floor(abs / DAY)} d ${Math.floor((abs % DAY) / HOUR)} h`;
}

/** Time left, rounded up to whole seconds so that a fresh 60 s window reads `1 m 00 s` and never `0 s` while it runs. */
export function timeLeft(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / SECOND));
  return seconds < 60 ? `${seconds} s` : duration(seconds * SECOND);
}

/** How long ago: `now` below a second, then whole seconds and coarser. */
export function age(ms: number): string {
  if (ms < SECOND) return 'now';
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  return duration(ms);
}

/** A setting in ms as people write it: `60 s`, `1 h`, `1 m 30 s`, `500 ms`. */
export function span(ms: number): string {
  if (ms % SECOND !== 0) return `${count(ms)} ms`;
  if (ms <= MINUTE) return `${ms / SECOND} s`;
  if (ms % HOUR === 0) return `${ms / HOUR} h`;
  if (ms % MINUTE === 0) return `${ms / MINUTE} min`;
  return duration(ms);
}

export type TimesMode = 'mixed' | 'relative' | 'local' | 'utc';

/** Time of day; with the date in front when it is not today, with milliseconds where rows can be that close. */
export function clock(at: number, now: number, utc: boolean, millis: boolean): string {
  const d = new Date(at);
  const n = new Date(now);
  const [y, mo, da, h, mi, s] = utc
    ? [d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate(), d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds()]
    : [d.getFullYear(), d.getMonth(), d.getDate(), d.getHours(), d.getMinutes(), d.getSeconds()];
  const today = utc
    ? y === n.getUTCFullYear() && mo === n.getUTCMonth() && da === n.getUTCDate()
    : y === n.getFullYear() && mo === n.getMonth() && da === n.getDate();
  const time = `${pad(h)}:${pad(mi)}:${pad(s)}`;
  if (!today) return `${y === n.getFullYear() ? '' : `${y}-`}${pad(mo + 1)}-${pad(da)} ${time}`;
  return millis ? `${time}.${pad(d.getMilliseconds(), 3)}` : time;
}

/** A moment in a row. `log` marks rows that are a log (adds, timelines): they show the time of day in mixed mode. */
export function moment(at: number, now: number, mode: TimesMode, log: boolean): string {
  if (mode === 'relative' || (mode === 'mixed' && !log)) return age(now - at);
  return clock(at, now, mode === 'utc', log);
}

/** Everything about a moment, for hover: local with offset, UTC, epoch. */
export function momentTitle(at: number): string {
  return `${isoLocal(at)}\n${new Date(at).toISOString()}\n${at} ms`;
}

/** ISO 8601 with the local offset. */
export function isoLocal(at: number): string {
  const d = new Date(at);
  const offset = -d.getTimezoneOffset();
  const sign = offset < 0 ? '-' : '+';
  const abs = Math.abs(offset);
  const date = `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;
  const time = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}.${pad(d.getMilliseconds(), 3)}`;
  return `${date}T${time}${sign}${pad(Math.floor(abs / 60))}:${pad(abs % 60)}`;
}

/** A whole number with thousands separators. */
export function count(n: number): string {
  // By hand: WebKit makes a formatter for each call of toLocaleString, which takes milliseconds.
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A count in little space: full to 9,999, then `12.4k`, `1.2M`. */
export function brief(n: number): string {
  if (n < 10_000) return count(n);
  if (n < 1_000_000) return `${trim(n / 1000)}k`;
  return `${trim(n / 1_000_000)}M`;
}

/** A rate per second: `214`, `3.4`, `0`. */
export function rate(n: number): string {
  if (n === 0) return '0';
  return n < 10 ? (Math.round(n * 10) / 10).toString() : brief(Math.round(n));
}

/** Bytes as `812 B`, `3.1 MiB`. */
export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KiB`;
  return `${(n / 1024 / 1024).toFixed(1)} MiB`;
}

function trim(n: number): string {
  return n < 100 ? (Math.floor(n * 10) / 10).toString() : Math.floor(n).toString();
}

/** `1 key`, `2 keys`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

const GENERATED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A generated id by its last six characters, a custom one in full. */
export function shortId(id: string): string {
  return GENERATED.test(id) ? `…${id.slice(-6)}` : visible(id);
}

/** Cuts a long text in the middle, since ids differ at both ends. */
export function middle(text: string, max: number): string {
  const chars = Array.from(text);
  if (chars.length <= max) return text;
  const tail = Math.floor((max - 1) * 0.4);
  const head = max - 1 - tail;
  return `${chars.slice(0, head).join('')}…${chars.slice(chars.length - tail).join('')}`;
}

/** Shows control characters as symbols, and bidirectional marks as a box, so that a key cannot disguise itself. */
export function visible(text: string): string {
  return text
    .replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\u007f/g, '\u2421')
    .replace(/[\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '\u25a1');
}

/** The last rows of their days in a list, newest first: by number, the day that follows above them. */
export function daysOf(rows: { seq: number; at: number }[], utc: boolean): Map<number, string> {
  const days = new Map<number, string>();
  const zone = utc ? { timeZone: 'UTC' } : {};
  const day = (at: number) =>
    new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', ...zone });
  const [first, last] = [rows[0], rows.at(-1)];
  // Most lists are of one day; asking for each row's would cost more than drawing it.
  if (!first || !last || day(first.at) === day(last.at)) return days;
  rows.forEach((row, i) => {
    const older = rows[i + 1];
    if (older && day(older.at) !== day(row.at)) days.set(row.seq, day(row.at));
  });
  return days;
}
