import { expect, it } from 'vitest';
import { DIFF_LINES_MAX, diffLines } from './diff';

const show = (left: string, right: string) =>
  diffLines(left, right)?.map((line) => `${{ same: ' ', left: '-', right: '+' }[line.kind]}${line.text}`);

it('shows what only one side has', () => {
  expect(show('{\n"plan": "free"\n}', '{\n"plan": "pro"\n}')).toEqual([
    ' {',
    '-"plan": "free"',
    '+"plan": "pro"',
    ' }',
  ]);
  expect(show('a\nb\nc', 'a\nc\nd')).toEqual([' a', '-b', ' c', '+d']);
  expect(show('same', 'same')).toEqual([' same']);
});

it('refuses texts past its bound', () => {
  expect(diffLines('x\n'.repeat(DIFF_LINES_MAX - 1), 'x')).not.toBeNull();
  expect(diffLines('x\n'.repeat(DIFF_LINES_MAX), 'x')).toBeNull();
});
