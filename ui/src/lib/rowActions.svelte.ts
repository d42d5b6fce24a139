// What can be done with a row. One list per screen feeds its keys, its context menu, the buttons of its drawer, the bar
// over a selection and the palette, so that no action is called differently in two places.
import type { Action } from '../bindings/Action';
import type { Can } from '../bindings/Can';
import type { IconName } from './icons';
import { live } from './live.svelte';
import type { Selection } from './selection.svelte';

export interface RowAction<Row> {
  /** End of its test ids: `keys.menu.release`. */
  id: string;
  label: string;
  icon?: IconName;
  /** The key that runs it: `R`, `Shift R`, `Delete`. */
  key?: string;
  danger?: boolean;
  /** Whether it changes something: absent in a window that may only look, off without a broker. */
  changes?: boolean;
  /** Its name in what the broker says is possible. */
  can?: Action;
  /** Whether it makes no sense for this row. */
  hidden?: (row: Row) => boolean;
  /** Why it is not possible for this row now, as far as the row shows; null when it is. */
  blocked?: (row: Row) => string | null;
  run?: (row: Row) => void;
  /** For many rows; absent when it is for one only. */
  bulk?: { label: (count: string) => string; run: (selection: Selection<Row>) => void };
}

/** Why an action is off for a row: null when it is not. */
export function offBecause<Row>(action: RowAction<Row>, row: Row, can?: Can[]): string | null {
  if (action.changes && !live.canAct) return 'Not connected to the broker.';
  const said = can?.find((one) => one.action === action.can);
  if (said && !said.allowed) return said.reason ?? 'Not possible now.';
  return action.blocked?.(row) ?? null;
}

/** The actions that exist for a row in this window. */
export function forRow<Row>(actions: RowAction<Row>[], row: Row): RowAction<Row>[] {
  return actions.filter((action) => action.run && !(action.changes && live.readOnly) && !action.hidden?.(row));
}

export function forMany<Row>(actions: RowAction<Row>[]): RowAction<Row>[] {
  return actions.filter((action) => action.bulk && !(action.changes && live.readOnly));
}

/** Whether a key press, already known to be a single key, is the action's. */
export function isKeyOf(key: string | undefined, event: KeyboardEvent): boolean {
  if (key === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
  const shifted = key.startsWith('Shift ');
  const letter = shifted ? key.slice(6) : key;
  return event.shiftKey === shifted && event.key.toLowerCase() === letter.toLowerCase();
}

/** Runs the action of a key press on a row. Answers whether the key means something here. */
export function pressOn<Row>(actions: RowAction<Row>[], event: KeyboardEvent, row: Row): boolean {
  const action = forRow(actions, row).find((one) => isKeyOf(one.key, event));
  if (!action) return false;
  if (offBecause(action, row) === null) action.run?.(row);
  return true;
}

export interface FocusedAction {
  id: string;
  label: string;
  key: string;
  run: () => void;
}

/** The row that has the focus of the present table, with what can be done with it now. For the palette. */
export const focused = $state<{ what: string; actions: () => FocusedAction[] }>({ what: '', actions: () => [] });

/** Says which row the palette may act on. */
export function focusOn<Row>(what: string, actions: RowAction<Row>[], row: Row): void {
  focused.what = what;
  focused.actions = () =>
    forRow(actions, row)
      .filter((action) => offBecause(action, row) === null)
      .map(({ id, label, key, run }) => ({ id, label, key: key ?? '', run: () => run?.(row) }));
}

export function focusOff(): void {
  focused.what = '';
  focused.actions = () => [];
}
