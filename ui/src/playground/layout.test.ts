// The picture: where things stand, that nothing covers anything, and what is said about them.
import { expect, it } from 'vitest';
import type { LaneAdd } from '../bindings/LaneAdd';
import type { LaneJob } from '../bindings/LaneJob';
import type { LaneKey } from '../bindings/LaneKey';
import { playLane, playRun } from '../test/playground';
import {
  ADDS_PX,
  axisOf,
  domainOf,
  JOBS_PX,
  jobText,
  keyText,
  labelled,
  LANE_PX,
  packed,
  pictureOf,
  steady,
  thingsOf,
  widthOf,
} from './layout';

const DOMAIN = { from: 0, to: 4_000 };
const job = (from: number, to: number | null, more: Partial<LaneJob> = {}): LaneJob => ({
  id: '00000000-0000-7000-8000-000000a1b2c3',
  v: 1,
  queue: 'q',
  spans: [{ state: 'active', from, to, workerGone: null }],
  end: to === null ? null : { t: to, how: 'completed' },
  ...more,
});
const add = (t: number, more: Partial<LaneAdd> = {}): LaneAdd => ({
  t,
  v: 1,
  decision: 'created',
  chip: 'created',
  warn: false,
  why: 'Created.',
  job: null,
  follows: false,
  ...more,
});
const key = (from: number, to: number | null, more: Partial<LaneKey> = {}): LaneKey => ({
  key: 'k',
  queue: 'q',
  v: 1,
  from,
  to,
  until: null,
  ownerEnded: null,
  ...more,
});
/** 400 px for 4 s, and 8 px free at each edge. */
const draw = (lane: Parameters<typeof playLane>[0]) => pictureOf(playLane(lane), DOMAIN, 416);

it('puts times on pixels', () => {
  const { bars, marks } = draw({ jobs: [job(1_000, 3_000)], adds: [add(1_000)] });
  expect(bars[0]).toMatchObject({ x: 108, w: 200, y: ADDS_PX, label: 'v1', end: 'completed' });
  expect(marks[0]).toMatchObject({ x: 108, level: 0, chip: 'created' });
});

it('an open job reaches to the present moment', () => {
  const [bar] = draw({ jobs: [job(1_000, null)] }).bars;
  expect(bar).toMatchObject({ x: 108, w: null, end: null, parts: [{ x: 108, w: null, kind: 'active' }] });
  expect([108, 158, 258].map((now) => widthOf(bar!, now))).toEqual([3, 50, 150]);
});

it('jobs at the same time have rows of their own, within the room for them', () => {
  const many = Array.from({ length: 12 }, (_, n) => job(n * 100, 3_000));
  const { bars } = draw({ jobs: many });
  expect(new Set(bars.map((bar) => bar.y)).size).toBe(12);
  for (const bar of bars) {
    expect(bar.y).toBeGreaterThanOrEqual(ADDS_PX);
    expect(bar.y + bar.h).toBeLessThanOrEqual(ADDS_PX + JOBS_PX);
  }
});

it('jobs one after another share a row', () => {
  const { bars } = draw({ jobs: [job(0, 1_000), job(1_100, 2_000), job(500, 1_500)] });
  expect(bars.map((bar) => bar.y)).toEqual([bars[0]!.y, bars[0]!.y, bars[2]!.y]);
  expect(
    packed([
      { x: 0, w: 10 },
      { x: 11, w: 5 },
    ]).of,
  ).toEqual([0, 1]);
});

it('a lost worker shows within the active stretch', () => {
  const lost = job(0, 2_000, { spans: [{ state: 'active', from: 0, to: 2_000, workerGone: 500 }] });
  const open = job(0, null, { spans: [{ state: 'active', from: 0, to: null, workerGone: 500 }] });
  expect(draw({ jobs: [lost] }).bars[0]!.parts).toEqual([
    { x: 8, w: 50, kind: 'active' },
    { x: 58, w: 150, kind: 'lost' },
  ]);
  expect(draw({ jobs: [open] }).bars[0]!.parts[1]).toEqual({ x: 58, w: null, kind: 'lost' });
});

it('the label stands where it can be read, or not at all', () => {
  const spans: LaneJob['spans'] = [
    { state: 'waiting', from: 0, to: 100, workerGone: null },
    { state: 'active', from: 100, to: 2_000, workerGone: null },
  ];
  const bars = (jobs: LaneJob[]) => draw({ jobs }).bars;
  expect(labelled(bars([job(0, 2_000, { spans })])[0]!, 400)).toMatchObject({ x: 18, kind: 'active' });
  expect(labelled(bars([job(0, 100)])[0]!, 400)).toBeUndefined();
  const [open] = bars([job(0, null)]);
  expect([20, 40].map((now) => labelled(open!, now)?.kind)).toEqual([undefined, 'active']);
  const many = Array.from({ length: 9 }, () => job(0, 3_000));
  expect(bars(many).every((bar) => labelled(bar, 400) === undefined)).toBe(true);
});

it('icons of adds never cover each other', () => {
  const { marks } = draw({ adds: [0, 50, 100, 150, 1_000].map((t) => add(t)) });
  expect(marks.map((mark) => mark.level)).toEqual([0, 1, null, 0, 0]);
});

it('a band shows how long its owner is gone, and what is left of its window', () => {
  const [band] = draw({ keys: [key(1_000, null, { until: 3_500, ownerEnded: 1_500 })] }).bands;
  expect(band).toMatchObject({ x: 108, w: null, idle: { x: 158, w: null }, until: 358 });
  expect(band!.y + band!.h).toBeLessThanOrEqual(LANE_PX);
});

it('bands of one key share a line, different keys at once do not', () => {
  const same = draw({ keys: [key(0, 1_000), key(1_000, 2_000)] }).bands;
  expect(same[0]!.y).toBe(same[1]!.y);
  const two = draw({ keys: [key(0, 2_000), key(1_000, 3_000, { queue: 'other' })] }).bands;
  expect(two[0]!.y).not.toBe(two[1]!.y);
});

it('shows the whole script, then as much as is needed, and a minute at most', () => {
  const script = [{ atMs: 0, act: { do: 'add' as const, v: 1, key: null, queue: null }, note: null }];
  const scripted = playRun({}, { script, lengthMs: 9_500 });
  expect(domainOf(scripted, 0)).toEqual({ from: 0, to: 9_500 });
  expect(domainOf(scripted, 9_500)).toEqual({ from: 0, to: 9_500 });
  expect(domainOf(scripted, 9_600)).toEqual({ from: 0, to: 12_000 });
  const custom = playRun({});
  expect(domainOf(custom, 0)).toEqual({ from: 0, to: 6_000 });
  expect(domainOf(custom, 90_000)).toEqual({ from: 31_000, to: 91_000 });
  expect(domainOf(playRun({ lanes: [playLane({ keys: [key(0, null, { until: 3_600_000 })] })] }), 0).to).toBe(6_000);
});

it('the axis has whole numbers with room for them', () => {
  expect(axisOf(DOMAIN, 416).map((place) => place.label)).toEqual([
    '0 s',
    '0.5 s',
    '1 s',
    '1.5 s',
    '2 s',
    '2.5 s',
    '3 s',
    '3.5 s',
    '4 s',
  ]);
  expect(axisOf({ from: 0, to: 60_000 }, 416).map((place) => place.label)).toEqual([
    '0 s',
    '10 s',
    '20 s',
    '30 s',
    '40 s',
    '50 s',
    '60 s',
  ]);
});

it('things come in order of time, the add before what it made', () => {
  const lane = playLane({ jobs: [job(500, null), job(900, null)], adds: [add(500), add(700)], keys: [key(500, null)] });
  expect(thingsOf(lane).map((thing) => `${thing.kind}${thing.index}`)).toEqual([
    'add0',
    'job0',
    'key0',
    'add1',
    'job1',
  ]);
});

it('draws only what is new', () => {
  const before = draw({ jobs: [job(0, 500), job(600, null)], adds: [add(0)] });
  const after = steady(before, draw({ jobs: [job(0, 500), job(600, 900), job(950, null)], adds: [add(0), add(950)] }));
  expect(after.bars[0]).toBe(before.bars[0]);
  expect(after.marks[0]).toBe(before.marks[0]);
  expect(after.bars[1]).toMatchObject({ end: 'completed', w: 30 });
  expect([after.bars.length, after.marks.length]).toEqual([3, 2]);
});

it('says what a bar and a band mean', () => {
  const spans: LaneJob['spans'] = [
    { state: 'waiting', from: 0, to: 400, workerGone: null },
    { state: 'active', from: 400, to: 5_000, workerGone: 1_000 },
    { state: 'waiting', from: 5_000, to: null, workerGone: null },
  ];
  expect(jobText(job(0, null, { spans }), 5_500)).toBe(
    'v1 (…a1b2c3) in q: waiting 0.4 s, active 4.6 s, its worker gone since 1.0 s, waiting 0.5 s, so far.',
  );
  expect(jobText(job(0, 300, { end: { t: 300, how: 'removed' } }), 900)).toContain('removed at 0.3 s.');
  expect(keyText(key(400, null, { until: 8_400, ownerEnded: 900 }))).toBe(
    '`k` in q, held by v1 from 0.4 s; its window ends at 8.4 s, although the job ended at 0.9 s.',
  );
  expect(keyText(key(400, 900))).toBe('`k` in q, held by v1 from 0.4 s to 0.9 s.');
});
