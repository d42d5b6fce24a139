// Line by line difference of two texts, for comparing an add's payload with its owner's.
// Quadratic in the number of lines that differ, hence the bound; past it the caller shows the texts whole.

export interface DiffLine {
  kind: 'same' | 'left' | 'right';
  text: string;
}

/** Lines of each text that are still compared. */
export const DIFF_LINES_MAX = 600;

/** The lines of `left` and `right` in one list, or null when the texts are too long. */
export function diffLines(left: string, right: string): DiffLine[] | null {
  const a = left.split('\n');
  const b = right.split('\n');
  if (a.length > DIFF_LINES_MAX || b.length > DIFF_LINES_MAX) return null;
  const common = longestCommon(a, b);
  const out: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: 'same', text: a[i]! });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || common[i + 1]![j]! >= common[i]![j + 1]!)) {
      out.push({ kind: 'left', text: a[i]! });
      i += 1;
    } else {
      out.push({ kind: 'right', text: b[j]! });
      j += 1;
    }
  }
  return out;
}

/** `table[i][j]`: length of the longest common subsequence of `a` from `i` and `b` from `j`. */
function longestCommon(a: string[], b: string[]): number[][] {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i]![j] = a[i] === b[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
    }
  }
  return table;
}
