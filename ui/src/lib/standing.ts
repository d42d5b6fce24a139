// Rows that may change places with every refresh, shown so that none jumps: while somebody points at them they keep their
// order, and a row that ended stays a moment where it was, with its reason. Pure, so that tests need no table.

/** How long a row that ended stays, in ms. */
export const ENDED_STAYS_MS = 2_000;
/** Rows change places at most once in this time, in ms. */
export const REORDER_EVERY_MS = 1_000;

export interface Standing<Row> {
  rows: Row[];
  /** Rows that ended, by key: why, and until when they stay. */
  ended: ReadonlyMap<string, { reason: string; until: number }>;
}

interface Fresh<Row> {
  rows: Row[];
  /** Why a row that is not among them ended; undefined when it did not end or nobody knows. */
  reasonOf: (row: Row) => string | undefined;
  keyOf: (row: Row) => string;
  /** Whether rows must keep their places. */
  still: boolean;
  now: number;
}

/** What is shown after a refresh. */
export function settle<Row>(shown: Standing<Row>, fresh: Fresh<Row>): Standing<Row> {
  const { keyOf, now } = fresh;
  const come = new Map(fresh.rows.map((row) => [keyOf(row), row]));
  const ended = new Map<string, { reason: string; until: number }>();
  const stays = (row: Row): boolean => {
    const key = keyOf(row);
    if (come.has(key)) return false;
    const before = shown.ended.get(key);
    const reason = before?.reason ?? fresh.reasonOf(row);
    const until = before?.until ?? now + ENDED_STAYS_MS;
    if (reason === undefined || until <= now) return false;
    ended.set(key, { reason, until });
    return true;
  };
  const rows: Row[] = [];
  if (fresh.still) {
    const placed = new Set<string>();
    for (const row of shown.rows) {
      const here = come.get(keyOf(row));
      if (here !== undefined || stays(row)) rows.push(here ?? row);
      placed.add(keyOf(row));
    }
    for (const [key, row] of come) if (!placed.has(key)) rows.push(row);
  } else {
    // Pages that shifted between two answers may repeat a row.
    rows.push(...come.values());
    shown.rows.forEach((row, place) => {
      if (stays(row)) rows.splice(Math.min(place, rows.length), 0, row);
    });
  }
  return { rows, ended };
}
