// Plausible views for tests, typed by the generated bindings so that they cannot drift from the broker's.
import type { ActionResult } from '../bindings/ActionResult';
import type { AddDetail } from '../bindings/AddDetail';
import type { AddRow } from '../bindings/AddRow';
import type { AddsPage } from '../bindings/AddsPage';
import type { JobDetail } from '../bindings/JobDetail';
import type { JobRow } from '../bindings/JobRow';
import type { JobsPage } from '../bindings/JobsPage';
import type { KeyDetail } from '../bindings/KeyDetail';
import type { KeyRow } from '../bindings/KeyRow';
import type { KeysPage } from '../bindings/KeysPage';
import type { Overview } from '../bindings/Overview';
import type { QueueRow } from '../bindings/QueueRow';
import type { ReleasePreview } from '../bindings/ReleasePreview';
import type { Text } from '../bindings/Text';

/** The clock of all fixtures. */
export const NOW = 1_790_000_000_000;

export const jobId = (n: number) => `0199aa00-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

export const text = (value: string): Text => ({ text: value, bytes: value.length, complete: true });

export function overview(over: Partial<Overview> = {}): Overview {
  return {
    revision: 1,
    now: NOW,
    version: '0.1.0',
    broker: { state: 'listening' },
    host: '127.0.0.1',
    port: 6789,
    dataFile: '~/.local/share/onceover/onceover.db',
    dataBytes: 3_250_585,
    storageTrouble: null,
    startedAt: NOW - 3_600_000,
    counts: { adds: 12_431, keys: 187, jobs: 946, queues: 6, schedules: 2, clients: 4, attention: 3 },
    addsPerS: 214,
    connections: 9,
    workers: 2,
    dedupWindow: 'ttl',
    everConnected: true,
    lastClient: 'python3 (pid 4123)',
    firstAddSeq: 1,
    readOnly: false,
    notices: [],
    ...over,
  };
}

export function addRow(over: Partial<AddRow> = {}): AddRow {
  return {
    seq: 1,
    at: NOW - 1000,
    client: 'node #2',
    queue: 'profiles',
    name: 'save',
    idKind: 'key',
    idText: 'user-42',
    decision: 'created',
    chip: 'created',
    warn: false,
    jobId: jobId(0xc2e18b),
    why: 'Created. No live job held user-42 in profiles.',
    facts: [],
    dataPreview: '{"user":42,"plan":"pro"}',
    sizeBytes: 24,
    tookUs: 180,
    replayOf: null,
    bulk: null,
    group: null,
    ...over,
  };
}

export function addsPage(rows: AddRow[], over: Partial<AddsPage> = {}): AddsPage {
  return {
    revision: 1,
    now: NOW,
    rows,
    next: null,
    newestSeq: rows[0]?.seq ?? 0,
    newer: 0,
    total: rows.length,
    hidden: 0,
    counts: {
      all: rows.length,
      collapsed: rows.filter((row) => row.chip !== 'created').length,
      rejected: rows.filter((row) => row.chip === 'rejected').length,
      dataDiffers: 0,
      replays: 0,
    },
    ...over,
  };
}

export function addDetail(row: AddRow, over: Partial<AddDetail> = {}): AddDetail {
  const face = {
    ownerId: row.jobId ?? jobId(1),
    ownerState: 'waiting' as const,
    generation: 7,
    ttlMs: 60_000,
    expiresAt: NOW + 41_000,
  };
  return {
    revision: 1,
    now: NOW,
    row,
    asked: [
      { name: 'queue', value: row.queue },
      { name: 'name', value: row.name },
      { name: 'uniqueKey', value: row.idText },
      { name: 'dedup', value: '{"ttl": 60000, "extend": true}' },
    ],
    steps: ['Key lookup: free.', 'A new job is made and takes the key for 60 s.'],
    keyBefore: row.decision === 'created' ? null : face,
    keyAfter: face,
    data: text('{\n  "user": 42,\n  "plan": "pro"\n}'),
    ownerData: row.facts.length > 0 ? text('{\n  "user": 42,\n  "plan": "free"\n}') : null,
    answered: `{"ok": true, "id": "${row.jobId}"}`,
    can: [{ action: 'replay', allowed: true, reason: null }],
    ...over,
  };
}

export function keyRow(over: Partial<KeyRow> = {}): KeyRow {
  return {
    queue: 'sync',
    key: 'sync-task',
    kind: 'dedup',
    ownerId: jobId(0x968a07),
    ownerState: 'active',
    generation: 7,
    registeredAt: NOW - 19_000,
    ttlMs: 60_000,
    expiresAt: NOW + 41_000,
    strategy: 'extend',
    collapsed: 38,
    dataDiffers: 2,
    extended: 12,
    replaced: 0,
    lastDecision: { decision: 'extended', chip: 'extended', at: NOW - 2000, client: 'node #2' },
    attention: [],
    ...over,
  };
}

export function keysPage(rows: KeyRow[], over: Partial<KeysPage> = {}): KeysPage {
  return {
    revision: 1,
    now: NOW,
    rows,
    next: null,
    total: rows.length,
    hidden: 0,
    ended: [],
    counts: {
      all: rows.length,
      attention: rows.filter((row) => row.attention.length > 0).length,
      expiring: 0,
      noTtl: rows.filter((row) => row.ttlMs === null).length,
      hot: 0,
      jobIds: 0,
    },
    ...over,
  };
}

export function releasePreview(row: KeyRow, over: Partial<ReleasePreview> = {}): ReleasePreview {
  const active = row.ownerState === 'active';
  return {
    queue: row.queue,
    key: row.key,
    ownerId: row.ownerId,
    ownerState: row.ownerState,
    generation: row.generation,
    text: `Owner …${row.ownerId.slice(-6)} stays ${row.ownerState}. The next add of ${row.key} creates a second job, and both may run.`,
    risky: active,
    allowed: row.kind !== 'jobId',
    reason: row.kind === 'jobId' ? 'A job id ends with its job.' : null,
    ...over,
  };
}

export function keyDetail(row: KeyRow, over: Partial<KeyDetail> = {}): KeyDetail {
  return {
    revision: 1,
    now: NOW,
    row,
    worker: row.ownerState === 'active' ? { name: 'mailer-1', gone: false, leaseEndsAt: NOW + 18_000 } : null,
    windowNote: null,
    hashedText: null,
    release: releasePreview(row),
    lastAdds: [
      addRow({
        seq: 812,
        queue: row.queue,
        idText: row.key,
        decision: 'extended',
        chip: 'extended',
        why: 'Kept …968a07 (active). TTL set to 60 s again (had 12.4 s left).',
      }),
      addRow({
        seq: 790,
        queue: row.queue,
        idText: row.key,
        why: `Created. No live job held ${row.key} in ${row.queue}.`,
      }),
    ],
    can: [
      { action: 'release', allowed: true, reason: null },
      { action: 'replay', allowed: true, reason: null },
    ],
    ...over,
  };
}

export function jobRow(over: Partial<JobRow> = {}): JobRow {
  return {
    id: jobId(0x968a07),
    customId: false,
    name: 'sync-task',
    queue: 'sync',
    state: 'waiting',
    key: {
      key: 'sync-task',
      held: true,
      holderId: null,
      ttlMs: 60_000,
      expiresAt: NOW + 41_000,
      strategy: 'extend',
      absorbed: 38,
    },
    attemptsMade: 1,
    attemptsMax: 3,
    createdAt: NOW - 30_000,
    runAt: null,
    startedAt: null,
    finishedAt: null,
    error: null,
    stalls: 0,
    holder: null,
    reason: null,
    ...over,
  };
}

export function jobsPage(rows: JobRow[], over: Partial<JobsPage> = {}): JobsPage {
  const of = (state: JobRow['state']) => rows.filter((row) => row.state === state).length;
  return {
    revision: 1,
    now: NOW,
    rows,
    next: null,
    total: rows.length,
    hidden: 0,
    counts: {
      all: rows.length,
      waiting: of('waiting'),
      prioritized: of('prioritized'),
      delayed: of('delayed'),
      active: of('active'),
      waitingChildren: of('waiting-children'),
      completed: of('completed'),
      failed: of('failed'),
    },
    note: null,
    ...over,
  };
}

export function jobDetail(row: JobRow, over: Partial<JobDetail> = {}): JobDetail {
  const failed = row.state === 'failed';
  return {
    revision: 1,
    now: NOW,
    row,
    priority: 0,
    options: [
      { name: 'backoff', value: '1000' },
      { name: 'timeout', value: '30000' },
    ],
    times: [
      { label: 'Created', at: row.createdAt },
      ...(row.startedAt === null ? [] : [{ label: 'Started', at: row.startedAt }]),
      ...(row.finishedAt === null ? [] : [{ label: 'Ended', at: row.finishedAt }]),
    ],
    family: { parent: null, children: [], childrenTotal: 0, waitsFor: [], note: null },
    generation: 7,
    dataMark: '00000000000000a1',
    addSeq: 790,
    progress: null,
    data: text('{\n  "action": "sync"\n}'),
    result: row.state === 'completed' ? text('{"sent": true}') : null,
    errors: failed
      ? [
          {
            attempt: 3,
            at: NOW - 5000,
            message: 'ECONNREFUSED 10.0.0.7:5432',
            stack: 'Error: ECONNREFUSED\n    at connect (db.ts:14:9)',
          },
        ]
      : [],
    timeline: [
      { at: row.createdAt, label: 'added', text: 'By node #2.', addSeq: 790 },
      { at: row.createdAt + 8000, label: 'absorbed an add', text: 'TTL set to 60 s again.', addSeq: 812 },
    ],
    logs: [{ at: NOW - 9000, level: 'info', text: 'connecting to db' }],
    raw: text(`{\n  "id": "${row.id}"\n}`),
    can: [
      { action: 'retry', allowed: failed, reason: failed ? null : 'Only a failed job can be retried.' },
      {
        action: 'promote',
        allowed: row.state === 'delayed',
        reason: row.state === 'delayed' ? null : 'Only a delayed job waits for its time.',
      },
      { action: 'remove', allowed: true, reason: null },
    ],
    ...over,
  };
}

export function queueRow(over: Partial<QueueRow> = {}): QueueRow {
  return {
    name: 'sync',
    limits: { concurrency: null, rate: null, temporaryRate: null, temporaryUntil: null },
    waiting: 12,
    active: 2,
    delayed: 3,
    waitingChildren: 0,
    failed: 1,
    completed: 900,
    keys: 14,
    collapsedPercent: 41.4,
    addsPerS: 12.3,
    added: [],
    ended: [],
    oldestWaitingAt: NOW - 42_000,
    workers: 2,
    paused: false,
    note: null,
    config: {
      stallDetection: true,
      stallIntervalMs: 30_000,
      stallsMax: 3,
      stallGraceMs: 5_000,
      autoRetry: false,
      autoRetryIntervalMs: 3_600_000,
      autoRetriesMax: 3,
      deadAgeMs: 604_800_000,
      deadMax: 10_000,
    },
    can: [
      { action: 'pause', allowed: true, reason: null },
      { action: 'resume', allowed: true, reason: null },
    ],
    ...over,
  };
}

export function done(message: string, over: Partial<ActionResult> = {}): ActionResult {
  return {
    ok: true,
    message,
    code: null,
    detail: null,
    jobId: null,
    seq: null,
    undo: null,
    leftAlone: [],
    revision: 2,
    ...over,
  };
}
