// The actions of the window: ask, then say what happened and offer the next step. Shared by buttons, keys and the palette.
import type { ActionResult } from '../bindings/ActionResult';
import type { KeyRef } from '../bindings/KeyRef';
import type { NewAdd } from '../bindings/NewAdd';
import type { RefusalCode } from '../bindings/RefusalCode';
import type { ActionRequest } from '../platform';
import { blankAdd, openLogged } from './composer.svelte';
import { showLeftAlone } from './leftAlone.svelte';
import { act } from './live.svelte';
import { go } from './route.svelte';
import { toasts, type ToastOffer } from './toasts.svelte';

/** Runs an action and shows its outcome as a toast, with its undo where there is one. Null when the broker could not be
 * asked. `silent` names the refusals that the caller shows itself; true = whatever comes of it. */
export async function perform(
  request: ActionRequest,
  silent: boolean | RefusalCode = false,
): Promise<ActionResult | null> {
  try {
    const result = await act(request);
    if (silent !== true && (silent === false || result.code !== silent)) show(result);
    return result;
  } catch (reason) {
    toasts.error(reason instanceof Error ? reason.message : String(reason));
    return null;
  }
}

/** Releases a key as it was on the screen. A changed key is left to the caller to show. */
export function releaseKey(seen: KeyRef): Promise<ActionResult | null> {
  return perform({ type: 'releaseKey', ...seen }, 'changed');
}

/** Sends a logged add again and offers to look at the new row. */
export function replayAdd(seq: number): Promise<ActionResult | null> {
  return perform({ type: 'replayAdd', seq });
}

/** Opens the composer with a logged add, to change it before it is sent again. */
export function editAndReplay(seq: number): Promise<void> {
  return said(openLogged(seq));
}

/** Opens the composer with a logged add that is to be sent many times. */
export function replayMany(seq: number): Promise<void> {
  return said(openLogged(seq, 'form', 100));
}

/** Opens the composer where a logged add stands as a program of each client. */
export function copyAsCode(seq: number): Promise<void> {
  return said(openLogged(seq, 'code'));
}

/** Says what went wrong instead of failing. */
async function said(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (reason) {
    toasts.error(reason instanceof Error ? reason.message : String(reason));
  }
}

export function sendAdd(add: NewAdd): Promise<ActionResult | null> {
  return perform({ type: 'sendAdd', ...add });
}

/** An add for those who have no program at hand. */
export function sendTestAdd(): Promise<ActionResult | null> {
  const add = { queue: 'test', name: 'hello', dataText: '{"from": "Onceover"}', dedupId: 'hello', ttlMs: 60_000 };
  return sendAdd({ ...blankAdd(), ...add });
}

/** Copies a text; must be called from a click or a key press. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // The clipboard needs a permission this host may refuse; selecting and copying works everywhere.
    if (!copyBySelection(text)) {
      toasts.error(`Could not copy ${what}: the system refused access to the clipboard.`);
      return;
    }
  }
  toasts.done(`Copied ${what}.`);
}

function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  const focused = document.activeElement as HTMLElement | null;
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  focused?.focus();
  return copied;
}

function show(result: ActionResult): void {
  const text = result.detail ? `${result.message} ${result.detail}` : result.message;
  // What undoes an action is always an action.
  const undo = result.undo as ActionRequest | null;
  if (undo) toasts.undoable(text, () => void perform(undo));
  else if (result.ok) toasts.done(text, offerFor(result));
  else toasts.error(text, offerFor(result));
}

function offerFor(result: ActionResult): ToastOffer | null {
  const left = result.leftAlone;
  if (left.length > 0) return { label: 'Show', run: () => showLeftAlone(result.message, left) };
  const { seq, jobId } = result;
  if (seq != null) return { label: 'Show add', run: () => go('adds', { open: String(seq) }) };
  if (result.code === 'keyTaken' && jobId) return { label: 'Show owner', run: () => go('jobs', { open: jobId }) };
  return null;
}
