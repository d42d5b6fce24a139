import { expect, it } from 'vitest';
import { formatJson } from './formatJson';

it('lays out and changes nothing', () => {
  expect(formatJson('{"n":9007199254740993,"e":[],"l":[1.0,{"a":"b, c: {\\"}"}]}')).toBe(
    '{\n  "n": 9007199254740993,\n  "e": [],\n  "l": [\n    1.0,\n    {\n      "a": "b, c: {\\"}"\n    }\n  ]\n}',
  );
});

it.each(['{', '', '{"a":}'])('leaves %j to be mended', (text) => expect(formatJson(text)).toBeNull());

it('is stable', () => {
  const once = formatJson('[[],{},[{"a":[null]}]]');
  expect(formatJson(once ?? '')).toBe(once);
});
