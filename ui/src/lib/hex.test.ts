import { expect, it } from 'vitest';
import { hexLines } from './hex';

it('puts sixteen bytes on a line, with place and text', () => {
  const bytes = Array.from({ length: 18 }, (_, i) => (0x41 + i).toString(16));
  const text = Array.from({ length: 18 }, (_, i) => String.fromCharCode(0x41 + i)).join('');
  expect(hexLines(bytes.join(' '), text)).toEqual([
    '0000  41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50  ABCDEFGHIJKLMNOP',
    `0010  51 52${' '.repeat(14 * 3)}  QR`,
  ]);
  expect(hexLines('', '')).toEqual([]);
});
