// The log of adds as a file: asked for part by part, put together here, and saved as a download.
import type { AddsQuery } from '../bindings/AddsQuery';
import type { ExportFormat } from '../bindings/ExportFormat';
import type { ExportPart } from '../bindings/ExportPart';
import { count, plural } from './format';
import { ask } from './live.svelte';
import { toasts } from './toasts.svelte';

const MEDIA: Record<ExportFormat, string> = { ndjson: 'application/x-ndjson', csv: 'text/csv' };

/** Saves all adds that a filter and a chip let through. */
export async function exportAdds(query: Pick<AddsQuery, 'filter' | 'chip'>, format: ExportFormat): Promise<void> {
  const parts: string[] = [];
  let rows = 0;
  let after: number | null = null;
  try {
    do {
      const whole = { ...query, after: null, limit: 0, since: null, grouped: false, within: null };
      const part: ExportPart = await ask({ type: 'exportAdds', query: whole, format, after });
      parts.push(part.text);
      rows += part.rows;
      after = part.next;
    } while (after !== null);
  } catch (reason) {
    const text = reason instanceof Error ? reason.message : String(reason);
    toasts.error(`The adds were not exported: after ${count(rows)} of them the broker gave no more. ${text}`);
    return;
  }
  const name = `adds-${new Date().toISOString().slice(0, 19).replace(/[:T]/g, '-')}.${format}`;
  saveFile(name, parts, MEDIA[format]);
  toasts.done(`Exported ${plural(rows, 'add')} to ${name}, in your folder for downloads.`);
}

/** Time after which the text of a download may be forgotten, in ms. */
const FORGET_AFTER_MS = 60_000;

/** Saves a text to the folder for downloads. */
export function saveFile(name: string, parts: string[], media: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(parts, { type: media }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), FORGET_AFTER_MS);
}
