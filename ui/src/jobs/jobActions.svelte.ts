// What can be done with jobs: one list for the keys, the menu, the drawer, the bar over a selection and the palette.
import type { Action } from '../bindings/Action';
import type { JobRow } from '../bindings/JobRow';
import type { JobsChosen } from '../bindings/JobsChosen';
import type { JobState } from '../bindings/JobState';
import { perform, replayAdd } from '../lib/actions';
import { ask } from '../lib/live.svelte';
import { go, joinKey, route, setParams, term } from '../lib/route.svelte';
import type { RowAction } from '../lib/rowActions.svelte';
import type { Selection } from '../lib/selection.svelte';
import { toasts } from '../lib/toasts.svelte';
import { STATES } from '../lib/words';

/** What the drawer of a job has open besides itself, and of which job. */
export type Asking = 'remove' | 'fail' | 'edit' | null;
export const asking = $state<{ what: Asking; id: string }>({ what: null, id: '' });

/** The question before an action on many jobs; `note` says what was left out when they were chosen. */
export const bulk = $state<{ action: Action; jobs: JobsChosen | null; note: string | null }>({
  action: 'retry',
  jobs: null,
  note: null,
});

export function askForMany(action: Action, jobs: JobsChosen, note: string | null = null): void {
  Object.assign(bulk, { action, jobs, note });
}

const isOneOf = (row: JobRow, states: JobState[]) => states.includes(row.state);

/** Why an action is not possible in the row's state; the broker says it at length. */
function only(states: JobState[], what: string): (row: JobRow) => string | null {
  return (row) => (isOneOf(row, states) ? null : `It is ${STATES[row.state].text}; only ${what}.`);
}

/** Opens the drawer of a job with a question or the editor in it. */
function openWith(row: JobRow, what: Asking) {
  setParams(what === 'edit' ? { open: row.id, tab: 'Data' } : { open: row.id }, true);
  Object.assign(asking, { what, id: row.id });
}

async function replayOf(row: JobRow) {
  const job = await ask({ type: 'job', id: row.id }).catch(() => null);
  const seq = job?.addSeq;
  if (seq != null) await replayAdd(seq);
  else toasts.error('The add that made this job is not in the log any more, so there is nothing to replay.');
}

function chosen(selection: Selection<JobRow>): JobsChosen {
  if (!selection.all) return { by: 'ids', ids: selection.rows.map((row) => row.id) };
  const { q, queue, state } = route.place.params;
  return { by: 'matching', queue: queue || null, state: (state || null) as JobState | null, filter: q ?? '' };
}

function many(action: Action, label: (count: string) => string): NonNullable<RowAction<JobRow>['bulk']> {
  return {
    label,
    run: (selection) => askForMany(action, chosen(selection)),
  };
}

export const JOB_ACTIONS: RowAction<JobRow>[] = [
  {
    id: 'retry',
    label: 'Retry',
    icon: 'extend',
    key: 'R',
    changes: true,
    can: 'retry',
    blocked: only(['failed', 'completed'], 'failed and completed jobs can be retried'),
    run: (row) => void perform({ type: 'retryJob', id: row.id }),
    bulk: many('retry', (n) => `Retry ${n}…`),
  },
  {
    id: 'promote',
    label: 'Run now',
    icon: 'stateActive',
    key: 'P',
    changes: true,
    can: 'promote',
    blocked: only(['delayed'], 'delayed jobs can be run now'),
    run: (row) => void perform({ type: 'promoteJob', id: row.id }),
    bulk: many('promote', (n) => `Run ${n} now…`),
  },
  {
    id: 'edit',
    label: 'Edit data…',
    icon: 'adds',
    key: 'E',
    changes: true,
    can: 'edit',
    blocked: only(
      ['waiting', 'prioritized', 'delayed', 'waiting-children'],
      'jobs that have not started can be edited',
    ),
    run: (row) => openWith(row, 'edit'),
  },
  {
    id: 'return',
    label: 'Return to waiting',
    icon: 'return',
    changes: true,
    can: 'return',
    hidden: (row) => row.state !== 'active',
    blocked: (row) => (row.holder?.goneSince === null ? 'Its worker is still there.' : null),
    run: (row) => void perform({ type: 'returnJob', id: row.id }),
  },
  {
    id: 'replay',
    label: 'Replay its add',
    icon: 'plus',
    changes: true,
    can: 'replay',
    run: (row) => void replayOf(row),
  },
  {
    id: 'key',
    label: 'Show key',
    icon: 'keys',
    key: 'O',
    hidden: (row) => row.key === null,
    run: (row) => row.key && go('keys', { open: joinKey(row.queue, row.key.key) }),
  },
  {
    id: 'adds',
    label: 'Show its adds',
    icon: 'adds',
    run: (row) => go('adds', { q: term('id', row.id) }),
  },
  {
    id: 'fail',
    label: 'Fail for good…',
    icon: 'cross',
    danger: true,
    changes: true,
    can: 'fail',
    blocked: only(['waiting', 'prioritized', 'delayed', 'active'], 'waiting and active jobs can be failed'),
    run: (row) => openWith(row, 'fail'),
  },
  {
    id: 'remove',
    label: 'Remove…',
    icon: 'close',
    key: 'Delete',
    danger: true,
    changes: true,
    can: 'remove',
    blocked: (row) => (row.state === 'active' ? 'It is active: a worker has it.' : null),
    run: (row) => openWith(row, 'remove'),
    bulk: many('remove', (n) => `Remove ${n}…`),
  },
];

/** "18 waiting, 3 delayed, 1 active". */
export function byState(rows: JobRow[]): string {
  const counts: Partial<Record<JobState, number>> = {};
  for (const row of rows) counts[row.state] = (counts[row.state] ?? 0) + 1;
  return Object.entries(counts)
    .map(([state, n]) => `${n} ${STATES[state as JobState].text}`)
    .join(', ');
}
