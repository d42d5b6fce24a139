// The composer's state: the add being written, and whether its sheet is open. The draft survives closing the sheet.
import type { NewAdd } from '../bindings/NewAdd';

/** An add that asks for nothing but the defaults. */
export function blankAdd(): NewAdd {
  return {
    origin: null,
    queue: '',
    name: '',
    dataText: '',
    jobId: null,
    dedupId: null,
    dedupHash: false,
    ttlMs: null,
    extend: false,
    replace: false,
    keepLastIfActive: false,
    delayMs: null,
    priority: null,
    attempts: null,
    backoff: null,
    timeoutMs: null,
    jobTtlMs: null,
    lifo: false,
    durable: false,
    removeOnComplete: false,
    removeOnFail: false,
    stallTimeoutMs: null,
    tags: [],
    dependsOn: [],
    parentId: null,
    childrenIds: [],
    groupId: null,
    groupMaxSize: null,
    timestamp: null,
    stackTraceLimit: null,
    keepLogs: null,
    sizeLimit: null,
    debounceId: null,
    debounceTtl: null,
    failParentOnFailure: false,
    removeDependencyOnFailure: false,
    continueParentOnFailure: false,
    ignoreDependencyOnFailure: false,
    repeat: null,
  };
}

class Composer {
  open = $state(false);
  draft = $state<NewAdd>(blankAdd());
  /** Fields whose text says nothing that can be sent, by name, with what is wrong. */
  problems = $state<Record<string, string>>({});
  /** Counts the drafts, so that fields forget the text of the one before. */
  edition = $state(0);

  set(draft: NewAdd): void {
    this.draft = draft;
    this.problems = {};
    this.edition += 1;
  }
}

export const composer = new Composer();

/**
 * Opens the composer. Without a draft the one that was left there is continued, otherwise `draft` takes its place.
 * `origin` is the logged add it was made from, whose payload stands when the draft has no `dataText` of its own.
 */
export function openComposer(draft?: Partial<NewAdd>, origin: number | null = null): void {
  if (draft) composer.set({ ...blankAdd(), dataText: origin === null ? '' : null, ...draft, origin });
  composer.open = true;
}
