// A list that is loaded page by page and kept fresh where it is looked at.
// Rows stay while a new query or a refresh is under way, so nothing blinks; one request is in flight at a time.
// Pages out of sight are not refreshed: they are asked for again when the reader comes back to them.
import { HostError } from '../platform';

export interface Page<Row> {
  rows: Row[];
  next: string | null;
  hidden: number;
  /** Said when a search did not look at everything. */
  note?: string | null;
}

/** A page of a list screen. */
export interface ListPage<Row> extends Page<Row> {
  /** Rows that match. */
  total: number;
}

interface Loaded<Row> {
  /** Cursor it was asked with. */
  after: string | null;
  next: string | null;
  rows: Row[];
  note: string | null;
}

export class Pager<Row, P extends Page<Row>> {
  rows = $state.raw<Row[]>([]);
  /** The last page that came, for its counts. */
  last = $state.raw<P | null>(null);
  error = $state.raw<{ code: string; message: string } | null>(null);
  /** True once anything came. */
  ready = $state(false);
  /** How far the search behind the last row looked, when it stopped before its end. */
  note = $state<string | null>(null);
  /** How long the last page took, in ms. */
  tookMs = 0;

  private pages: Loaded<Row>[] = [];
  private query = 0;
  private busy = false;
  private again: (() => void) | null = null;

  constructor(private readonly fetch: (after: string | null) => Promise<P>) {}

  /** Whether rows below the last one exist. */
  get more(): boolean {
    return this.pages.at(-1)?.next != null;
  }

  /** Starts over: the query changed. Old rows stay until the new ones are there. */
  reset(): void {
    this.query += 1;
    this.run(async () => {
      const first = await this.load(null);
      if (first) this.pages = [first];
    });
  }

  /** Asks again for the pages that hold rows `first` to `last`. */
  refresh(first: number, last: number): void {
    this.run(async () => {
      let start = 0;
      let index = 0;
      let after: string | null = null;
      for (;;) {
        const page: Loaded<Row> | undefined = this.pages[index];
        if (!page && index > 0) break;
        const end: number = start + (page?.rows.length ?? 0);
        if (!page || (end > first && start <= last) || (index === 0 && end === 0)) {
          const fresh = await this.load(after);
          if (!fresh) return;
          // A page that ends elsewhere leaves a gap or a repeat behind it; what follows is loaded again on the way.
          if (page && fresh.next !== page.next) this.pages.length = index + 1;
          this.pages[index] = fresh;
          start += fresh.rows.length;
          after = fresh.next;
        } else {
          start = end;
          after = page.next;
        }
        if (after === null || start > last) break;
        index += 1;
        if (!this.pages[index] && start <= last) this.pages[index] = { after, next: null, rows: [], note: null };
      }
    });
  }

  /** Loads the page after the last one. */
  grow(): void {
    if (this.busy || !this.more) return;
    this.run(async () => {
      const page = await this.load(this.pages.at(-1)?.next ?? null);
      if (page) this.pages.push(page);
    });
  }

  private async load(after: string | null): Promise<Loaded<Row> | null> {
    const query = this.query;
    const began = performance.now();
    const page = await this.fetch(after);
    this.tookMs = performance.now() - began;
    if (query !== this.query) return null;
    this.last = page;
    return { after, next: page.next, rows: page.rows, note: page.note ?? null };
  }

  /** Runs one job at a time; of those that come meanwhile, the newest runs afterwards. */
  private run(job: () => Promise<void>): void {
    if (this.busy) {
      this.again = () => this.run(job);
      return;
    }
    this.busy = true;
    const query = this.query;
    job()
      .then(
        () => {
          if (query !== this.query) return;
          this.error = null;
          this.rows = this.pages.flatMap((page) => page.rows);
          this.note = this.pages.at(-1)?.note ?? null;
          this.ready = true;
        },
        (reason: unknown) => {
          if (query !== this.query) return;
          const code = reason instanceof HostError ? reason.code : 'internal';
          this.error = { code, message: reason instanceof Error ? reason.message : String(reason) };
        },
      )
      .finally(() => {
        this.busy = false;
        const next = this.again;
        this.again = null;
        next?.();
      });
  }
}
