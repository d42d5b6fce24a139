// Which rows of a table are selected. Rows are kept as they were when they were selected: an action on them names what the
// user saw, also after they scrolled away. "All that match" is a state of its own; the broker then says which they are.

export class Selection<Row> {
  private chosen = $state.raw<ReadonlyMap<string, Row>>(new Map());
  /** Whether everything that the filter lets through is selected, loaded or not. */
  all = $state(false);
  /** Where a range starts. */
  private anchor: string | null = null;

  constructor(readonly keyOf: (row: Row) => string) {}

  get rows(): Row[] {
    return [...this.chosen.values()];
  }

  get any(): boolean {
    return this.all || this.chosen.size > 0;
  }

  /** How many of `total` matching rows are selected. */
  count(total: number): number {
    return this.all ? total : this.chosen.size;
  }

  has(key: string): boolean {
    return this.all || this.chosen.has(key);
  }

  toggle(row: Row): void {
    const key = this.keyOf(row);
    const next = new Map(this.chosen);
    if (!next.delete(key)) next.set(key, row);
    this.chosen = next;
    this.all = false;
    this.anchor = key;
  }

  /** Selects from where the last choice was made to `row`. */
  range(rows: Row[], row: Row): void {
    const to = rows.indexOf(row);
    const anchored = rows.findIndex((other) => this.keyOf(other) === this.anchor);
    const from = anchored < 0 ? to : anchored;
    this.anchor = this.keyOf(rows[from]!);
    this.set(rows.slice(Math.min(from, to), Math.max(from, to) + 1));
  }

  /** Selects these rows only; where a range starts stays. */
  set(rows: Row[]): void {
    this.chosen = new Map(rows.map((row) => [this.keyOf(row), row]));
    this.all = false;
  }

  /** The first time the rows that are loaded, then all that match. */
  more(rows: Row[]): void {
    const loaded = rows.length > 0 && rows.every((row) => this.chosen.has(this.keyOf(row)));
    if (loaded) this.all = true;
    else this.set(rows);
  }

  clear(): void {
    if (!this.any) return;
    this.chosen = new Map();
    this.all = false;
    this.anchor = null;
  }
}
