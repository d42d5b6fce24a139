// Where things stand in a lane's picture: time to pixels, jobs to rows, marks that would cover each other to levels.
// Pure functions. What is drawn is what the broker's run says; nothing is decided here.
import type { Chip } from '../bindings/Chip';
import type { Decision } from '../bindings/Decision';
import type { JobState } from '../bindings/JobState';
import type { LaneEnding } from '../bindings/LaneEnding';
import type { LaneJob } from '../bindings/LaneJob';
import type { LaneKey } from '../bindings/LaneKey';
import type { LaneSpan } from '../bindings/LaneSpan';
import type { LaneView } from '../bindings/LaneView';
import type { PlayRun } from '../bindings/PlayRun';
import { shortId, visible } from '../lib/format';
import { STATES } from '../lib/words';

/** Height of the marks of adds, of the jobs and of the key bands, in px. */
export const ADDS_PX = 28;
export const JOBS_PX = 54;
export const KEYS_PX = 16;
export const LANE_PX = ADDS_PX + JOBS_PX + KEYS_PX;

/** Longest stretch of time in one picture, in ms; older things leave at the left. */
const SPAN_MAX_MS = 60_000;
const SPAN_MIN_MS = 6_000;
/** Icons of adds closer than this stand at different levels, in px. */
const MARK_PX = 13;
const MARK_LEVELS = 2;
const ROW_MAX_PX = 18;
const BAR_MIN_PX = 3;
const GAP_PX = 2;
const EDGE_PX = 8;
const BAND_ROWS = 3;
/** Room that a label needs. */
const LABEL_W_PX = 20;
const LABEL_H_PX = 11;

export interface Domain {
  from: number;
  to: number;
}

/** The stretch of time that is shown. It grows in steps, so that the picture does not creep while the clock runs. */
export function domainOf(run: PlayRun, t: number): Domain {
  const scripted = run.scenario.script.length > 0 ? run.scenario.lengthMs : 0;
  const ends = run.lanes.flatMap((lane) => lane.keys.filter((key) => key.to === null).map((key) => key.until ?? 0));
  // A window of an hour would flatten the rest.
  const tail = Math.min(Math.max(0, ...ends), t + 4_000);
  const needed = Math.max(scripted || SPAN_MIN_MS, t > scripted ? Math.max(t + 500, tail) : 0);
  const to = t > scripted ? roundUp(needed) : needed;
  return { from: Math.max(0, to - SPAN_MAX_MS), to };
}

function roundUp(ms: number): number {
  const step = ms <= 20_000 ? 2_000 : ms <= SPAN_MAX_MS ? 5_000 : 1_000;
  return Math.ceil(ms / step) * step;
}

/** Places on the axis: whole seconds, as close as their labels allow. */
export function axisOf(domain: Domain, width: number): { x: number; label: string }[] {
  const steps = [500, 1_000, 2_000, 5_000, 10_000, 20_000];
  const at = scale(domain, width);
  const step = steps.find((ms) => at(domain.from + ms) - at(domain.from) >= 44) ?? 30_000;
  const places = [];
  for (let t = Math.ceil(domain.from / step) * step; t <= domain.to; t += step) {
    places.push({ x: at(t), label: `${t / 1000} s` });
  }
  return places;
}

/** `2.1 s`, or `2.15 s` where a tenth is not enough. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms % 100 === 0 ? 1 : 2)} s`;
}

/** A moment's place. The edges are kept free, so that a mark at the start is not cut. */
export function scale(domain: Domain, width: number): (t: number) => number {
  const perMs = (width - 2 * EDGE_PX) / (domain.to - domain.from);
  return (t) => EDGE_PX + Math.max(0, Math.min(width - 2 * EDGE_PX, (t - domain.from) * perMs));
}

/** A stretch of the picture. One that is still open has no width: it reaches to the present moment. */
export interface Stretch {
  x: number;
  w: number | null;
}

export interface BarPart extends Stretch {
  /** `lost` = active, but its worker is gone. */
  kind: JobState | 'lost';
}

export interface Bar extends Stretch {
  job: number;
  v: number;
  y: number;
  h: number;
  label: string;
  parts: BarPart[];
  end: LaneEnding | null;
}

export interface Mark {
  add: number;
  x: number;
  decision: Decision;
  chip: Chip;
  /** 0 at the bottom; null where there is no room for an icon. */
  level: number | null;
}

export interface Band extends Stretch {
  key: number;
  y: number;
  h: number;
  /** Where its owner has ended, within the band. */
  idle: Stretch | null;
  /** Where its window ends, while it is held. */
  until: number | null;
}

export interface Picture {
  bars: Bar[];
  marks: Mark[];
  bands: Band[];
}

/** The width of a stretch when the clock stands at `now`, in px. */
export function widthOf(stretch: Stretch, now: number): number {
  return stretch.w ?? Math.max(BAR_MIN_PX, now - stretch.x);
}

/** The part of a bar where its label can be read: the first with room, since the eye starts at the left. */
export function labelled(bar: Bar, now: number): BarPart | undefined {
  return bar.h < LABEL_H_PX ? undefined : bar.parts.find((part) => widthOf(part, now) >= LABEL_W_PX);
}

/** The whole picture, but for what the moment changes. */
export function pictureOf(lane: LaneView, domain: Domain, width: number): Picture {
  const at = scale(domain, width);
  return {
    bars: barsOf(lane.jobs, at, domain),
    marks: marksOf(lane, at, domain),
    bands: bandsOf(lane.keys, at, domain),
  };
}

/** The new picture, with everything that looks as before taken from the old one, so that only news are drawn. */
export function steady(before: Picture | undefined, picture: Picture): Picture {
  if (!before) return picture;
  const keep = <T>(old: T[], fresh: T[]) =>
    fresh.map((one, i) => (old[i] !== undefined && same(old[i], one) ? old[i] : one));
  return {
    bars: keep(before.bars, picture.bars),
    marks: keep(before.marks, picture.marks),
    bands: keep(before.bands, picture.bands),
  };
}

function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const [left, right] = [Object.entries(a), b as Record<string, unknown>];
  return left.length === Object.keys(b).length && left.every(([name, value]) => same(value, right[name]));
}

function stretch(at: (t: number) => number, from: number, to: number | null, min = BAR_MIN_PX): Stretch {
  return { x: at(from), w: to === null ? null : Math.max(min, at(to) - at(from)) };
}

function barsOf(jobs: LaneJob[], at: (t: number) => number, domain: Domain): Bar[] {
  const shown = jobs
    .map((job, index) => ({ job, index, place: stretch(at, job.spans[0]?.from ?? 0, job.end?.t ?? null) }))
    .filter(({ job }) => job.end === null || job.end.t >= domain.from);
  const rows = packed(shown.map(({ place }) => place));
  const height = Math.min(ROW_MAX_PX, JOBS_PX / Math.max(1, rows.count));
  return shown.map(({ job, index, place }, n) => ({
    ...place,
    job: index,
    v: job.v,
    y: ADDS_PX + rows.of[n]! * height,
    h: height - GAP_PX,
    label: `v${job.v}`,
    parts: job.spans.flatMap((span) => partsOf(span, at)),
    end: job.end?.how ?? null,
  }));
}

function partsOf({ state, from, to, workerGone }: LaneSpan, at: (t: number) => number): BarPart[] {
  const part = (a: number, b: number | null, kind: BarPart['kind']) => ({ ...stretch(at, a, b, 1), kind });
  if (workerGone === null) return [part(from, to, state)];
  return [part(from, workerGone, state), part(workerGone, to, 'lost')];
}

/** Puts each stretch into the first row in which it touches no other; an open one keeps its row to itself. */
export function packed(stretches: Stretch[]): { of: number[]; count: number } {
  const ends: number[] = [];
  const of = stretches.map(({ x, w }) => {
    const free = ends.findIndex((end) => end + GAP_PX <= x);
    const row = free === -1 ? ends.length : free;
    ends[row] = w === null ? Infinity : x + w;
    return row;
  });
  return { of, count: ends.length };
}

function marksOf(lane: LaneView, at: (t: number) => number, domain: Domain): Mark[] {
  const last: number[] = Array.from({ length: MARK_LEVELS }, () => -MARK_PX);
  return lane.adds.flatMap((add, index) => {
    if (add.t < domain.from) return [];
    const x = at(add.t);
    const level = last.findIndex((before) => x - before >= MARK_PX);
    if (level !== -1) last[level] = x;
    return [{ add: index, x, decision: add.decision, chip: add.chip, level: level === -1 ? null : level }];
  });
}

function bandsOf(keys: LaneKey[], at: (t: number) => number, domain: Domain): Band[] {
  const shown = keys
    .map((key, index) => ({ key, index }))
    .filter(({ key }) => key.to === null || key.to >= domain.from);
  // One px is left between two holdings of the same key, so that a change of hands shows.
  const place = ({ from, to }: LaneKey) => {
    const { x, w } = stretch(at, from, to);
    return { x, w: w === null ? null : Math.max(BAR_MIN_PX, w - 1) };
  };
  const names = [...new Set(shown.map(({ key }) => `${key.queue}\n${key.key}`))];
  // Holdings of one key follow each other; only different keys at once need lines of their own.
  const overlap = names.length > 1 && packed(shown.map(({ key }) => place(key))).count > 1;
  const height = KEYS_PX / (overlap ? Math.min(names.length, BAND_ROWS) : 1);
  return shown.map(({ key, index }) => {
    const row = overlap ? names.indexOf(`${key.queue}\n${key.key}`) % BAND_ROWS : 0;
    return {
      ...place(key),
      key: index,
      y: LANE_PX - KEYS_PX + row * height,
      h: Math.min(9, height - 1),
      idle: key.ownerEnded === null ? null : stretch(at, key.ownerEnded, key.to, 0),
      until: key.to === null && key.until !== null ? at(key.until) : null,
    };
  });
}

/** Something in a lane that can be pointed at. */
export interface Thing {
  kind: 'add' | 'job' | 'key';
  index: number;
  /** When it began, for the order of the arrow keys. */
  t: number;
}

/** Everything in a lane in order of time; at the same moment the add comes before what it made. */
export function thingsOf(lane: LaneView): Thing[] {
  const kinds = ['add', 'job', 'key'] as const;
  const things: Thing[] = [
    ...lane.adds.map((add, index) => ({ kind: 'add' as const, index, t: add.t })),
    ...lane.jobs.map((job, index) => ({ kind: 'job' as const, index, t: job.spans[0]?.from ?? 0 })),
    ...lane.keys.map((key, index) => ({ kind: 'key' as const, index, t: key.from })),
  ];
  return things.sort((a, b) => a.t - b.t || kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || a.index - b.index);
}

/** A job's life in words: `v3 (…a1b2c3): waiting 0.4 s, active 1.2 s, completed at 2.8 s.` */
export function jobText(job: LaneJob, t: number): string {
  const spans = job.spans.map((span) => {
    const gone = span.workerGone === null ? '' : `, its worker gone since ${seconds(span.workerGone)}`;
    return `${STATES[span.state].text} ${seconds((span.to ?? t) - span.from)}${gone}`;
  });
  const end =
    job.end === null
      ? 'so far'
      : `${job.end.how === 'failed' ? 'failed for good' : job.end.how} at ${seconds(job.end.t)}`;
  return `v${job.v} (${shortId(job.id)}) in ${visible(job.queue)}: ${spans.join(', ')}, ${end}.`;
}

/** A key's holding in words. */
export function keyText(key: LaneKey): string {
  const held = `\`${key.key}\` in ${visible(key.queue)}, held by v${key.v} from ${seconds(key.from)}`;
  const to = key.to === null ? '' : ` to ${seconds(key.to)}`;
  const window = key.until === null ? '; it ends with its job' : `; its window ends at ${seconds(key.until)}`;
  const idle = key.ownerEnded === null ? '' : `, although the job ended at ${seconds(key.ownerEnded)}`;
  return `${held}${to}${key.to === null ? `${window}${idle}` : idle}.`;
}
