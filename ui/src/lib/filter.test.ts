import { expect, it } from 'vitest';
import { ADDS_FIELDS, KEYS_FIELDS, partAt, suggest, wrongPart } from './filter';

const texts = (text: string, fields = KEYS_FIELDS) => suggest(text, text.length, fields).map((one) => one.text);

it('offers fields, then the values of the one that is named', () => {
  expect(texts('qu')).toEqual(['queue:']);
  expect(texts('queue:sync st')).toEqual(['state:', 'strategy:']);
  expect(texts('-st')).toEqual(['-state:', '-strategy:']);
  expect(texts('state:a')).toEqual(['state:active']);
  expect(texts('state:active,del')).toEqual(['state:active,delayed']);
  expect(texts('state:active')).toEqual([]);
  expect(texts('decision:rej', ADDS_FIELDS)).toEqual(['decision:rejected*']);
  expect(texts('hello')).toEqual([]);
});

it('looks at the part under the cursor only, and not inside quotes for its end', () => {
  expect(partAt('queue:"a b" key', 3)).toEqual({ start: 0, end: 11 });
  expect(partAt('queue:"a b" key', 15)).toEqual({ start: 12, end: 15 });
  expect(suggest('st key:x', 2, KEYS_FIELDS).map((one) => one.text)).toEqual(['state:', 'strategy:']);
});

it('finds the part that a complaint is about', () => {
  const text = 'queue:a left:soon key:b';
  expect(wrongPart(text, 'left: "soon" is not a duration. Example: left:<10s')).toEqual({ start: 8, end: 17 });
  expect(wrongPart('quue:a b', 'There is no field quue here, only queue, key.')).toEqual({ start: 0, end: 6 });
  expect(wrongPart('a "b c', 'A quote is not closed.')).toEqual({ start: 2, end: 6 });
  expect(wrongPart('a b', 'Something else.')).toBeNull();
});
