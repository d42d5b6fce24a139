// What can be done about each thing that deserves a look (gui.md 3.3), for the drawer of a key and the attention panel.
import type { AttentionCode } from '../bindings/AttentionCode';
import type { KeyRow } from '../bindings/KeyRow';
import { asking as askingOfJob } from '../jobs/jobActions.svelte';
import { copyText, perform } from '../lib/actions';
import { openComposer } from '../lib/composer.svelte';
import { ask } from '../lib/live.svelte';
import { go, term } from '../lib/route.svelte';
import type { RowAction } from '../lib/rowActions.svelte';
import { toasts } from '../lib/toasts.svelte';
import { KEY_ACTIONS } from './keyActions.svelte';

type Offer = RowAction<KeyRow>;

function known(id: string, label?: string): Offer {
  const action = KEY_ACTIONS.find((one) => one.id === id);
  if (!action) throw new Error(`no action of keys is called ${id}`);
  return label ? { ...action, label } : action;
}

const filterOf = (row: KeyRow) => `${term('queue', row.queue)} ${term('key', row.key)}`;

async function replayWithReplace(row: KeyRow) {
  const lost = await newestLost(row);
  if (lost === null) return toasts.error('The add whose data was lost is not in the log any more.');
  const draft = await ask({ type: 'draft', seq: lost });
  openComposer({ ...draft.add, replace: true, extend: false }, lost);
}

async function compare(row: KeyRow) {
  const lost = await newestLost(row);
  if (lost === null) return toasts.error('The add whose data was lost is not in the log any more.');
  go('adds', { q: filterOf(row), chip: 'dataDiffers', open: String(lost), compare: '1' });
}

async function newestLost(row: KeyRow): Promise<number | null> {
  const query = {
    filter: filterOf(row),
    chip: 'dataDiffers',
    after: null,
    limit: 1,
    since: null,
    grouped: false,
    within: null,
  } as const;
  const page = await ask({ type: 'adds', ...query });
  return page.rows[0]?.seq ?? null;
}

/** Asks about one of the live jobs with the key: one without the key where there is such a one. */
async function removeTwin(row: KeyRow) {
  const place = { queue: row.queue, q: term('key', row.key) };
  const query = { type: 'jobs', queue: row.queue, state: null, filter: place.q, after: null, limit: 100 } as const;
  const live = ['waiting', 'prioritized', 'delayed', 'waiting-children'];
  const jobs = (await ask(query)).rows.filter((job) => job.key?.key === row.key && live.includes(job.state));
  const job = jobs.find((one) => !one.key?.held) ?? jobs[0];
  if (!job) return toasts.error('None of them can be removed: workers have them.');
  go('jobs', { ...place, open: job.id });
  Object.assign(askingOfJob, { what: 'remove', id: job.id });
}

const RELEASE = known('release');
const SHOW_BOTH: Offer = {
  id: 'twins',
  label: 'Show them',
  run: (row) => go('jobs', { queue: row.queue, q: term('key', row.key) }),
};
const REMOVE_ONE: Offer = {
  id: 'removeTwin',
  label: 'Remove one…',
  changes: true,
  run: (row) => void removeTwin(row),
};
const SHOW_QUEUE: Offer = { id: 'queue', label: 'Show queue', run: (row) => go('jobs', { queue: row.queue }) };
const RESUME: Offer = {
  id: 'resume',
  label: 'Resume queue',
  changes: true,
  run: (row) => void perform({ type: 'resumeQueue', queue: row.queue }),
};
const RUN_NOW: Offer = {
  id: 'promote',
  label: 'Run now',
  changes: true,
  hidden: (row) => row.ownerState !== 'delayed',
  run: (row) => void perform({ type: 'promoteJob', id: row.ownerId }),
};
const COMPARE: Offer = { id: 'compare', label: 'Compare', run: (row) => void compare(row) };
const REPLAY_REPLACE: Offer = {
  id: 'replayReplace',
  label: 'Replay with replace…',
  changes: true,
  run: (row) => void replayWithReplace(row),
};
const DIAGNOSTICS: Offer = {
  id: 'diagnostics',
  label: 'Copy diagnostics',
  run: (row) => void copyText(JSON.stringify(row, null, 2), 'the diagnostics'),
};

export const OFFERS: Record<AttentionCode, Offer[]> = {
  owner_missing: [RELEASE, DIAGNOSTICS],
  owner_ended: [RELEASE, known('retryOwner')],
  worker_gone: [known('return'), RELEASE],
  lease_lost: [known('owner', 'Show job')],
  twin: [SHOW_BOTH, REMOVE_ONE],
  no_worker: [SHOW_QUEUE],
  paused: [RESUME],
  starving: [known('adds'), RUN_NOW],
  long_hold: [RELEASE, known('window')],
  data_lost: [COMPARE, REPLAY_REPLACE],
};
