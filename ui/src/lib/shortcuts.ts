// The keyboard: which keys exist, for the list behind `?`, and when a single key may act.
import { settings } from './settings.svelte';

export interface ShortcutGroup {
  where: string;
  keys: [keys: string, does: string][];
}

export const SHORTCUTS: ShortcutGroup[] = [
  {
    where: 'Everywhere',
    keys: [
      ['Ctrl K', 'search or run a command'],
      ['G then A K J Q C P', 'Adds, Keys, Jobs, Queues, Clients, Playground'],
      ['/', 'filter'],
      ['L', 'live or paused'],
      ['!', 'keys that need attention'],
      ['N', 'new add'],
      ['Z', 'undo'],
      ['Esc', 'close, then clear the selection'],
      ['Ctrl ,', 'settings'],
      ['?', 'this list'],
    ],
  },
  {
    where: 'Tables',
    keys: [
      ['↑ ↓ or K J', 'move'],
      ['Enter', 'open'],
      ['Home End PgUp PgDn', 'move far'],
      ['Ctrl C', 'copy the id'],
      ['Space', 'select'],
      ['Shift ↑ ↓', 'select a range'],
      ['Ctrl A', 'select the loaded rows, again all that match'],
      ['Shift F10', 'menu'],
    ],
  },
  {
    where: 'Adds',
    keys: [
      ['R', 'replay'],
      ['E', 'edit and replay'],
      ['Shift R', 'replay many times'],
      ['C', 'copy as code'],
      ['D', "compare with the owner's data"],
      ['O', 'show key'],
    ],
  },
  {
    where: 'Keys',
    keys: [
      ['X', 'release'],
      ['T', 'set or extend the TTL'],
      ['O', 'show owner'],
      ['R', 'replay the last add'],
    ],
  },
  {
    where: 'Jobs',
    keys: [
      ['R', 'retry'],
      ['P', 'run now'],
      ['E', 'edit data'],
      ['O', 'show key'],
      ['Del', 'remove'],
    ],
  },
  {
    where: 'Playground',
    keys: [
      ['Space', 'add'],
      ['1 2 3', 'lane of the worker'],
      ['W', 'pick up'],
      ['C', 'complete'],
      ['F', 'fail'],
      ['S', 'step'],
      ['0', 'reset'],
    ],
  },
];

/** Whether a key press without Ctrl may act: never while a text is typed, and only when single keys are on. */
export function singleKey(event: KeyboardEvent): boolean {
  if (!settings.singleKeys || event.ctrlKey || event.metaKey || event.altKey) return false;
  return !isTyping(event.target);
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // A box to tick takes no letters.
  if (target instanceof HTMLInputElement && ['checkbox', 'radio'].includes(target.type)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

/** How long the second key of a chord is waited for, in ms. */
const CHORD_MS = 1500;
let chordUntil = 0;

/** The first key of a chord was pressed: the next one belongs to it, wherever the focus is. */
export function beginChord(): void {
  chordUntil = Date.now() + CHORD_MS;
}

export function endChord(): void {
  chordUntil = 0;
}

export function inChord(): boolean {
  return Date.now() < chordUntil;
}
