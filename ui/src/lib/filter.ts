// The filter language as far as the window needs it: what can be typed next, and which part a complaint is about. What a
// filter means is the broker's.

export interface FilterField {
  name: string;
  /** What stands behind the colon, for example `<10s`. */
  hint: string;
  /** Values that can be offered. */
  values?: string[];
}

export interface Suggestion {
  /** The text to put in place of the part being typed. */
  text: string;
  hint: string;
}

interface Part {
  start: number;
  end: number;
}

/** At most so many are offered. */
const SUGGESTIONS_MAX = 8;

/** The parts of a filter: white space between them, but not inside quotes. */
function parts(text: string): Part[] {
  const found: Part[] = [];
  let start = -1;
  let quoted = false;
  for (let i = 0; i <= text.length; i += 1) {
    const character = text[i];
    if (character === '"') quoted = !quoted;
    const ends = character === undefined || (/\s/.test(character) && !quoted);
    if (ends && start >= 0) {
      found.push({ start, end: i });
      start = -1;
    } else if (!ends && start < 0) start = i;
  }
  return found;
}

/** The part that ends at the cursor, or an empty one there. */
export function partAt(text: string, cursor: number): Part {
  return parts(text).find((part) => part.start < cursor && cursor <= part.end) ?? { start: cursor, end: cursor };
}

/** What can be typed at the cursor: names of fields, then values of the field that is named. */
export function suggest(text: string, cursor: number, fields: FilterField[]): Suggestion[] {
  const { start } = partAt(text, cursor);
  const typed = text.slice(start, cursor);
  const minus = typed.startsWith('-') ? '-' : '';
  const word = typed.slice(minus.length).toLowerCase();
  const colon = word.indexOf(':');
  if (colon < 0) {
    const named = fields.filter((field) => field.name.startsWith(word) && field.name !== word);
    return named.slice(0, SUGGESTIONS_MAX).map((field) => ({ text: `${minus}${field.name}:`, hint: field.hint }));
  }
  const field = fields.find((one) => one.name === word.slice(0, colon));
  const before = word.slice(0, word.lastIndexOf(',') > colon ? word.lastIndexOf(',') + 1 : colon + 1);
  const begun = word.slice(before.length);
  const values = (field?.values ?? []).filter((value) => value.startsWith(begun) && value !== begun);
  return values.slice(0, SUGGESTIONS_MAX).map((value) => ({ text: `${minus}${before}${value}`, hint: '' }));
}

/** The part of the filter that a complaint of the broker is about; null when it cannot be told. */
export function wrongPart(text: string, problem: string): Part | null {
  if (problem.includes('quote is not closed')) return { start: text.lastIndexOf('"'), end: text.length };
  const nameOf = (part: Part) => /^-?([a-z._]+):/i.exec(text.slice(part.start, part.end))?.[1]?.toLowerCase();
  const isMeant = (name: string) => problem.startsWith(`${name}: `) || problem.startsWith(`There is no field ${name} `);
  return parts(text).find((part) => isMeant(nameOf(part) ?? '')) ?? null;
}

const REASONS = ['max_attempts_exceeded', 'timeout', 'stalled', 'unknown'];
const STATES = ['waiting', 'prioritized', 'delayed', 'active', 'waiting-children', 'completed', 'failed'];
const DECISIONS = [
  'created',
  'created.freed',
  'created.twin',
  'existing.key',
  'existing.job_id',
  'existing.elsewhere',
  'existing.hash',
  'extended',
  'replaced',
  'moved',
  'next.held',
  'rejected*',
];
const ATTENTION = [
  'worker_gone',
  'twin',
  'no_worker',
  'data_lost',
  'paused',
  'starving',
  'lease_lost',
  'long_hold',
  'owner_ended',
  'owner_missing',
];
const QUEUE: FilterField = { name: 'queue', hint: 'name, * for any text' };

export const ADDS_FIELDS: FilterField[] = [
  QUEUE,
  { name: 'key', hint: 'deduplication key' },
  { name: 'id', hint: 'job id, or its end' },
  { name: 'name', hint: 'job name' },
  { name: 'decision', hint: 'what was decided', values: DECISIONS },
  { name: 'client', hint: 'program' },
  { name: 'age', hint: '>5m' },
  { name: 'size', hint: '>1000 bytes' },
  { name: 'took', hint: '>10ms' },
  { name: 'replay', hint: 'number of the add' },
];

export const KEYS_FIELDS: FilterField[] = [
  QUEUE,
  { name: 'key', hint: 'deduplication key' },
  { name: 'state', hint: 'of the owner', values: STATES },
  { name: 'owner', hint: 'job id, or its end' },
  { name: 'left', hint: '<10s' },
  { name: 'collapsed', hint: '>100' },
  { name: 'strategy', hint: 'of the owner', values: ['plain', 'extend', 'replace', 'keepLast'] },
  { name: 'attention', hint: 'what deserves a look', values: ATTENTION },
  { name: 'age', hint: '>5m' },
  { name: 'extended', hint: '>10' },
  { name: 'replaced', hint: '>10' },
];

export const JOBS_FIELDS: FilterField[] = [
  QUEUE,
  { name: 'state', hint: 'state of the job', values: STATES },
  { name: 'id', hint: 'job id, or its end' },
  { name: 'name', hint: 'job name' },
  { name: 'key', hint: 'deduplication key' },
  { name: 'error', hint: 'timeout*' },
  { name: 'attempts', hint: '>1' },
  { name: 'priority', hint: '>0' },
  { name: 'age', hint: '>5m' },
  { name: 'reason', hint: 'why it is a dead letter', values: REASONS },
  { name: 'failed', hint: 'time since it failed: >1h' },
];
