// What can be done with a queue: one list for its row, its menu, its strip above the jobs and the palette.
import type { QueueRow } from '../bindings/QueueRow';
import { perform } from '../lib/actions';
import { openComposer } from '../lib/composer.svelte';
import { count, span } from '../lib/format';
import { go, term } from '../lib/route.svelte';
import type { RowAction } from '../lib/rowActions.svelte';

type Asked = 'settings' | 'drain' | 'clean' | 'obliterate' | 'limits';

/** The question that is open, and about which queue. */
export const queueAsking = $state<{ what: Asked | null; queue: string }>({
  what: null,
  queue: '',
});

function asks(what: Asked) {
  return (row: QueueRow) => {
    queueAsking.queue = row.name;
    queueAsking.what = what;
  };
}

/** Why the broker says that an action is not possible; a queue's row carries that itself. */
function said(action: 'pause' | 'resume' | 'drain' | 'clean' | 'obliterate') {
  return (row: QueueRow) => {
    const can = row.can.find((one) => one.action === action);
    return can && !can.allowed ? (can.reason ?? 'Not possible now.') : null;
  };
}

export const QUEUE_ACTIONS: RowAction<QueueRow>[] = [
  { id: 'jobs', label: 'Show its jobs', icon: 'jobs', run: (row) => go('jobs', { queue: row.name }) },
  { id: 'adds', label: 'Show its adds', icon: 'adds', run: (row) => go('adds', { q: term('queue', row.name) }) },
  { id: 'keys', label: 'Show its keys', icon: 'keys', run: (row) => go('keys', { q: term('queue', row.name) }) },
  {
    id: 'add',
    label: 'Add a job…',
    icon: 'plus',
    changes: true,
    run: (row) => openComposer({ queue: row.name }),
  },
  {
    id: 'pause',
    label: 'Pause',
    icon: 'pause',
    changes: true,
    can: 'pause',
    hidden: (row) => row.paused,
    run: (row) => void perform({ type: 'pauseQueue', queue: row.name }),
  },
  {
    id: 'resume',
    label: 'Resume',
    icon: 'live',
    changes: true,
    can: 'resume',
    hidden: (row) => !row.paused,
    run: (row) => void perform({ type: 'resumeQueue', queue: row.name }),
  },
  { id: 'limits', label: 'Limits and groups…', icon: 'lock', changes: true, run: asks('limits') },
  {
    id: 'settings',
    label: 'Stalls and dead letters…',
    icon: 'settings',
    changes: true,
    run: asks('settings'),
  },
  {
    id: 'drain',
    label: 'Drain…',
    icon: 'down',
    danger: true,
    changes: true,
    can: 'drain',
    blocked: said('drain'),
    run: asks('drain'),
  },
  {
    id: 'clean',
    label: 'Clean…',
    icon: 'check',
    danger: true,
    changes: true,
    can: 'clean',
    blocked: said('clean'),
    run: asks('clean'),
  },
  {
    id: 'obliterate',
    label: 'Obliterate…',
    icon: 'cross',
    danger: true,
    changes: true,
    can: 'obliterate',
    run: asks('obliterate'),
  },
];

/** A queue's rate in words, such as `5 per 1 s`; empty without one. */
export function rateOf({ limits }: QueueRow): string {
  const rate = limits.temporaryRate ?? limits.rate;
  return rate ? `${count(rate.max)} per ${span(rate.durationMs)}` : '';
}
