// The arithmetic of a virtual table: which rows are drawn, and which columns fit. Pure, so that tests need no layout.

export interface Column {
  id: string;
  /** Heading; empty for a column of icons, which then needs `title`. */
  label: string;
  title?: string;
  /** Least width, in px. */
  width: number;
  /** Share of the space that is left; 0 or absent for a fixed width. */
  grow?: number;
  /** Columns with the highest number go first when space is short; absent for a column that always stays. */
  drop?: number;
  align?: 'right';
  /** Name of the order this heading switches to. */
  sort?: string;
  /** Not shown until it is switched on. */
  off?: boolean;
  /** Cannot be hidden or resized: marks and check boxes. */
  fixed?: boolean;
  /** Width set by hand, in px. */
  by?: number;
}

/** How much somebody is busy with a table: the pointer is among its rows, moves there or rests on a button, or rows are
 * selected or a menu is open. */
export type Hold = 'no' | 'inside' | 'pointing' | 'choosing';

/** Bounds of a width set by hand, in px. */
export const WIDTH_MIN = 44;
export const WIDTH_MAX = 800;

/** Rows drawn above and below the visible ones. */
const MARGIN_ROWS = 10;

/** A viewport is never taken for taller than this, in px. Before its style sheet applies it can be as tall as its content,
 * and every row of a long list would be drawn. */
const VIEWPORT_MAX = 4000;

export interface Slice {
  /** First row drawn, and one past the last. */
  start: number;
  end: number;
  /** First and last row the reader sees. */
  first: number;
  last: number;
}

export function visibleSlice(scrollTop: number, height: number, rowHeight: number, rows: number): Slice {
  const seen = Math.min(Math.max(height, rowHeight), VIEWPORT_MAX);
  const first = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight), rows - 1));
  const last = Math.max(0, Math.min(Math.ceil((scrollTop + seen) / rowHeight) - 1, rows - 1));
  return { start: Math.max(0, first - MARGIN_ROWS), end: Math.min(rows, last + 1 + MARGIN_ROWS), first, last };
}

/** The columns that fit into `width` px. A width of 0 means "not measured yet": all. */
export function fittingColumns(columns: Column[], width: number): Column[] {
  if (width === 0) return columns;
  const kept = [...columns];
  const needed = () => kept.reduce((sum, column) => sum + column.width, 0);
  while (needed() > width) {
    const droppable = kept.filter((column) => column.drop !== undefined);
    if (droppable.length === 0) break;
    const victim = droppable.reduce((worst, column) => (column.drop! > worst.drop! ? column : worst));
    kept.splice(kept.indexOf(victim), 1);
  }
  return kept;
}

export function gridTemplate(columns: Column[]): string {
  const track = (c: Column) =>
    c.grow && c.by === undefined ? `minmax(${c.width}px, ${c.grow}fr)` : `${c.by ?? c.width}px`;
  return columns.map(track).join(' ');
}

/** The least width of a row: beyond the table's it scrolls sideways, which only widths set by hand can cause. */
export function leastWidth(columns: Column[]): number {
  return columns.reduce((sum, c) => sum + (c.by ?? c.width), 0);
}

/** Where a key press moves the focus in a table, or null when the key is not one of movement. */
export function moveTo(key: string, from: number, rows: number, page: number, letters: boolean): number | null {
  const last = rows - 1;
  const clamp = (n: number) => Math.max(0, Math.min(n, last));
  switch (key) {
    case 'ArrowDown':
      return clamp(from + 1);
    case 'ArrowUp':
      return clamp(from - 1);
    case 'PageDown':
      return clamp(from + page);
    case 'PageUp':
      return clamp(from - page);
    case 'Home':
      return 0;
    case 'End':
      return clamp(last);
    case 'j':
    case 'J':
      return letters ? clamp(from + 1) : null;
    case 'k':
    case 'K':
      return letters ? clamp(from - 1) : null;
    default:
      return null;
  }
}
