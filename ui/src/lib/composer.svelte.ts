// The composer's state: the add being written, how often it is to be sent, the run that sends it, and whether its sheet is
// open. The draft survives closing the sheet, and a run the window.
import type { DraftView } from '../bindings/DraftView';
import type { DryRun } from '../bindings/DryRun';
import type { NewAdd } from '../bindings/NewAdd';
import type { RunProgress } from '../bindings/RunProgress';
import { blankAdd } from './blankAdd';
import { ask } from './live.svelte';
import { toasts } from './toasts.svelte';
import { go } from './route.svelte';

export { blankAdd };

export type ComposerTab = 'form' | 'json' | 'code';

/** Payloads up to this size are written into the form at once; larger ones when somebody wants to edit them. Bytes. */
const TEXT_AT_ONCE_BYTES = 64 * 1024;
const RUN_EVERY_MS = 250;

class Composer {
  open = $state(false);
  tab = $state<ComposerTab>('form');
  draft = $state<NewAdd>(blankAdd());
  /** What is different when the draft's origin is sent again. */
  notes = $state.raw<string[]>([]);
  /** Size of the origin's payload. */
  originBytes = $state(0);
  /** Fields whose text says nothing that can be sent, by name, with what is wrong. */
  problems = $state<Record<string, string>>({});
  /** What would become of the draft now; null while that is not known. */
  dry = $state.raw<DryRun | null>(null);
  /** Counts the drafts, so that fields forget the text of the one before. */
  edition = $state(0);
  times = $state(1);
  gapMs = $state(0);
  connections = $state(1);
  /** The last run that this window knows of. */
  run = $state.raw<RunProgress | null>(null);

  /** The field that the broker complains about, by its name on the wire. */
  get wrong(): string | null {
    return this.dry?.field ?? null;
  }

  /** Whether the end of the run is still to be told. */
  private follows = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  set(draft: NewAdd): void {
    this.draft = draft;
    this.notes = [];
    this.originBytes = 0;
    this.renew();
    this.times = 1;
    this.gapMs = 0;
    this.connections = 1;
  }

  /** The draft changed elsewhere than in the fields. */
  renew(): void {
    this.problems = {};
    this.dry = null;
    this.edition += 1;
  }

  setDraft(view: DraftView): void {
    this.set(view.add);
    this.notes = view.notes;
    this.originBytes = view.dataBytes;
  }

  /** Takes the origin's payload into the draft, to be changed. */
  async takeData(): Promise<void> {
    const { origin, dataText } = this.draft;
    if (origin === null || dataText !== null) return;
    const edition = this.edition;
    const data = await ask({ type: 'addData', seq: origin });
    if (edition === this.edition && data.complete) this.draft.dataText = data.text;
  }

  /** Follows a run until its end, wherever the user goes meanwhile. */
  follow(begins = false): void {
    clearTimeout(this.timer);
    this.follows = true;
    if (begins) this.run = null;
    this.timer = setTimeout(() => void this.look(), RUN_EVERY_MS);
  }

  private async look(): Promise<void> {
    try {
      this.run = (await ask({ type: 'run' })).run;
    } catch {
      // The link tells why; the run is looked at again.
    }
    if (!this.run || this.run.going) this.follow();
    else if (this.follows) {
      this.follows = false;
      // In the sheet the figures are on the screen already.
      if (!this.open) ended(this.run);
    }
  }
}

function ended(run: RunProgress): void {
  const text = run.error ? `${run.sentence} ${run.error}` : run.sentence;
  const offer = { label: 'Show adds', run: () => showRun(run.id) };
  if (run.answered < run.times || run.rejected > 0) toasts.error(text, offer);
  else toasts.done(text, offer);
}

/** Goes to the adds of a run. */
export function showRun(id: number): void {
  composer.open = false;
  go('adds', { q: `run:${id}` });
}

export const composer = new Composer();

/**
 * Opens the composer. Without a draft the one that was left there is continued, otherwise `draft` takes its place.
 * `origin` is the logged add it was made from, whose payload stands when the draft has no `dataText` of its own.
 */
export function openComposer(draft?: Partial<NewAdd>, origin: number | null = null): void {
  if (draft) composer.set({ ...blankAdd(), dataText: origin === null ? '' : null, ...draft, origin });
  composer.tab = 'form';
  composer.open = true;
}

/** Opens the composer with a logged add. */
export async function openLogged(seq: number, tab: ComposerTab = 'form', times = 1): Promise<void> {
  const view = await ask({ type: 'draft', seq });
  composer.setDraft(view);
  composer.tab = tab;
  composer.times = times;
  composer.connections = times > 1 ? 4 : 1;
  composer.open = true;
  if (view.dataBytes <= TEXT_AT_ONCE_BYTES) await composer.takeData();
}
