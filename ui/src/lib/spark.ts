// The line of a small curve. Pure: sizes come from the caller.

/** A path through `values`, oldest at the left, `most` at the top; half a line's width stays free at both edges. */
export function linePath(values: number[], most: number, width: number, height: number): string {
  if (values.length === 0) return '';
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const y = (value: number) => round(height - 1 - (value / Math.max(most, 1)) * (height - 2));
  return values.map((value, i) => `${i === 0 ? 'M' : 'L'}${round(i * step)} ${y(value)}`).join('');
}

const round = (n: number) => Math.round(n * 10) / 10;
