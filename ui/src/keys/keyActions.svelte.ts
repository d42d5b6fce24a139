// What can be done with keys: one list for the keys of the keyboard, the menu, the drawer, the bar over a selection and the
// palette. Custom job ids are listed like keys; what is done with them is done with their jobs.
import type { KeyRef } from '../bindings/KeyRef';
import type { KeyRow } from '../bindings/KeyRow';
import type { KeysChip } from '../bindings/KeysChip';
import type { KeysPage } from '../bindings/KeysPage';
import type { KeysChosen } from '../bindings/KeysChosen';
import { askForMany } from '../jobs/jobActions.svelte';
import { copyText, perform, replayAdd } from '../lib/actions';
import { count } from '../lib/format';
import { ask } from '../lib/live.svelte';
import { go, joinKey, route, term } from '../lib/route.svelte';
import type { RowAction } from '../lib/rowActions.svelte';
import type { Selection } from '../lib/selection.svelte';
import { toasts } from '../lib/toasts.svelte';
import { STATES } from '../lib/words';

/** What the drawer of a key has open besides itself. */
export type Asking = 'release' | 'window' | 'remove' | null;
export const asking = $state<{ what: Asking }>({ what: null });

/** The question before many keys are released. */
export const bulk = $state<{ keys: KeysChosen | null }>({ keys: null });

export const idOf = (row: KeyRow) => joinKey(row.queue, row.key);

export function refOf(row: KeyRow): KeyRef {
  return { queue: row.queue, key: row.key, ownerId: row.ownerId, generation: row.generation };
}

const isJobId = (row: KeyRow) => row.kind === 'jobId';
const isLive = (row: KeyRow) => !['completed', 'failed', 'gone'].includes(row.ownerState);
const has = (row: KeyRow, code: string) => row.attention.some((item) => item.code === code);

/** Opens the drawer of a key with a question in it. */
export function openWith(row: KeyRow, what: Asking): void {
  go('keys', { ...(route.place.screen === 'keys' ? route.place.params : {}), open: idOf(row) });
  asking.what = what;
}

async function replayLast(row: KeyRow) {
  const key = await ask({ type: 'key', queue: row.queue, key: row.key }).catch(() => null);
  const last = key?.lastAdds[0];
  if (last) await replayAdd(last.seq);
  else toasts.error('No add of this key is in the log any more, so there is nothing to replay.');
}

function chosen(selection: Selection<KeyRow>): KeysChosen {
  if (!selection.all) return { by: 'refs', keys: selection.rows.map(refOf) };
  return { by: 'matching', filter: route.place.params.q ?? '', chip: (route.place.params.chip || 'all') as KeysChip };
}

/** Most jobs that one action on many takes. */
const JOBS_MAX = 10_000;
const PAGE_ROWS = 200;

/** Jobs are not found by whether their id is a custom one, so all that match are read first. */
async function jobIds(selection: Selection<KeyRow>): Promise<{ ids: string[]; more: boolean }> {
  if (!selection.all) return { ids: selection.rows.map((row) => row.ownerId), more: false };
  const filter = route.place.params.q ?? '';
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const query = { filter, chip: 'jobIds', sort: 'attention', reverse: false, after, limit: PAGE_ROWS } as const;
    const page: KeysPage = await ask({ type: 'keys', ...query });
    ids.push(...page.rows.map((row) => row.ownerId));
    after = page.next;
  } while (after !== null && ids.length < JOBS_MAX);
  return { ids: ids.slice(0, JOBS_MAX), more: after !== null || ids.length > JOBS_MAX };
}

async function removeMany(selection: Selection<KeyRow>) {
  try {
    const { ids, more } = await jobIds(selection);
    const note = more ? `More match than one action takes: these are the first ${count(JOBS_MAX)}.` : null;
    askForMany('remove', { by: 'ids', ids }, note);
  } catch (reason) {
    toasts.error(reason instanceof Error ? reason.message : String(reason));
  }
}

const RELEASE: RowAction<KeyRow> = {
  id: 'release',
  label: 'Release key…',
  icon: 'keys',
  key: 'X',
  danger: true,
  changes: true,
  can: 'release',
  hidden: isJobId,
  run: (row) => openWith(row, 'release'),
  bulk: { label: (n) => `Release ${n}…`, run: (selection) => (bulk.keys = chosen(selection)) },
};

/** A job id cannot be released without its job. */
const REMOVE_JOB: RowAction<KeyRow> = {
  id: 'removeJob',
  label: 'Remove job…',
  icon: 'close',
  key: 'X',
  danger: true,
  changes: true,
  can: 'remove',
  hidden: (row) => !isJobId(row),
  blocked: (row) => (row.ownerState === 'active' ? 'It is active: a worker has it.' : null),
  run: (row) => openWith(row, 'remove'),
  bulk: {
    label: (n) => `Remove ${n} jobs…`,
    run: (selection) => void removeMany(selection),
  },
};

const COMMON: RowAction<KeyRow>[] = [
  {
    id: 'window',
    label: 'Set TTL…',
    icon: 'stateDelayed',
    key: 'T',
    changes: true,
    can: 'window',
    hidden: isJobId,
    run: (row) => openWith(row, 'window'),
  },
  {
    id: 'return',
    label: 'Return job to waiting',
    icon: 'return',
    changes: true,
    can: 'return',
    hidden: (row) => row.ownerState !== 'active',
    blocked: (row) => (isJobId(row) || has(row, 'worker_gone') ? null : 'Its worker is still there.'),
    run: (row) => void perform({ type: 'returnJob', id: row.ownerId }),
  },
  {
    id: 'retryOwner',
    label: 'Retry owner',
    icon: 'extend',
    changes: true,
    can: 'retry',
    hidden: (row) => isLive(row) || row.ownerState === 'gone',
    run: (row) => void perform({ type: 'retryJob', id: row.ownerId }),
  },
  {
    id: 'replay',
    label: 'Replay last add',
    icon: 'plus',
    key: 'R',
    changes: true,
    can: 'replay',
    run: (row) => void replayLast(row),
  },
  {
    id: 'owner',
    label: 'Show owner',
    icon: 'jobs',
    key: 'O',
    hidden: (row) => row.ownerState === 'gone',
    run: (row) => go('jobs', { open: row.ownerId }),
  },
  {
    id: 'adds',
    label: 'Show adds',
    icon: 'adds',
    run: (row) => go('adds', { q: `${term('queue', row.queue)} ${term(isJobId(row) ? 'id' : 'key', row.key)}` }),
  },
  { id: 'copy', label: 'Copy key', icon: 'copy', run: (row) => void copyText(row.key, 'the key') },
  {
    id: 'removeOwner',
    label: 'Remove owner…',
    icon: 'close',
    danger: true,
    changes: true,
    can: 'remove',
    hidden: (row) => isJobId(row) || row.ownerState === 'gone',
    blocked: (row) => (row.ownerState === 'active' ? 'It is active: a worker has it.' : null),
    run: (row) => openWith(row, 'remove'),
  },
];

/** The actions of the list: of keys, or of job ids while those are shown. */
export const KEY_ACTIONS: RowAction<KeyRow>[] = [RELEASE, ...COMMON];
export const JOB_ID_ACTIONS: RowAction<KeyRow>[] = [REMOVE_JOB, ...COMMON];
export const actionsFor = (jobIds: boolean) => (jobIds ? JOB_ID_ACTIONS : KEY_ACTIONS);

/** "18 waiting, 3 delayed, 1 active". */
export function byOwnerState(rows: KeyRow[]): string {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const state = STATES[row.ownerState].text;
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return [...counts].map(([state, n]) => `${n} ${state}`).join(', ');
}
