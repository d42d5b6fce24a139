// Which columns of a table are shown and how wide they are, remembered per screen in the window's own storage.
import { WIDTH_MAX, WIDTH_MIN, type Column } from './table';

interface Kept {
  /** Columns switched on or off against their default. */
  shown: Record<string, boolean>;
  /** Widths set by hand, in px. */
  widths: Record<string, number>;
}

const NOTHING: Kept = { shown: {}, widths: {} };

export class ColumnChoice {
  private kept = $state.raw<Kept>(NOTHING);

  constructor(private readonly screen: string) {
    this.kept = this.load();
  }

  isShown(column: Column): boolean {
    return this.kept.shown[column.id] ?? !column.off;
  }

  /** The columns to draw, with the widths set by hand. */
  apply(columns: Column[]): Column[] {
    return columns.filter((column) => this.isShown(column)).map((column) => this.sized(column));
  }

  get changed(): boolean {
    return Object.keys(this.kept.shown).length + Object.keys(this.kept.widths).length > 0;
  }

  toggle(column: Column): void {
    this.keep({ ...this.kept, shown: { ...this.kept.shown, [column.id]: !this.isShown(column) } });
  }

  resize(column: Column, width: number): void {
    const clamped = Math.round(Math.max(WIDTH_MIN, Math.min(width, WIDTH_MAX)));
    this.keep({ ...this.kept, widths: { ...this.kept.widths, [column.id]: clamped } });
  }

  reset(): void {
    this.keep(NOTHING);
  }

  private sized(column: Column): Column {
    const by = this.kept.widths[column.id];
    return by === undefined ? column : { ...column, by };
  }

  private get storageKey(): string {
    return `onceover.columns.${this.screen}`;
  }

  private keep(kept: Kept): void {
    this.kept = kept;
    try {
      localStorage.setItem(this.storageKey, JSON.stringify(kept));
    } catch {
      // Without storage the choice lasts as long as the screen.
    }
  }

  private load(): Kept {
    try {
      const kept = JSON.parse(localStorage.getItem(this.storageKey) ?? '{}') as Partial<Kept>;
      return { shown: { ...kept.shown }, widths: { ...kept.widths } };
    } catch {
      return NOTHING;
    }
  }
}
