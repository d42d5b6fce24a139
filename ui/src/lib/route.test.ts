import { expect, it } from 'vitest';
import { formatPlace, joinKey, parsePlace, splitKey, term } from './route.svelte';

it('a place survives the address', () => {
  const place = { screen: 'keys', params: { q: 'queue:sync key:a&b', open: joinKey('a/b', 'käse?#%') } } as const;
  expect(parsePlace(formatPlace(place))).toEqual(place);
  expect(splitKey(place.params.open)).toEqual({ queue: 'a/b', key: 'käse?#%' });
});

it('unknown places and tokens are no places', () => {
  expect(parsePlace('#token=abc')).toBeNull();
  expect(parsePlace('#/nowhere')).toBeNull();
  expect(parsePlace('')).toBeNull();
});

it('empty parameters leave the address', () => {
  expect(formatPlace({ screen: 'adds', params: { q: '', chip: '' } })).toBe('#/adds');
});

it('filter terms are quoted when they must be', () => {
  expect(term('key', 'user-42')).toBe('key:user-42');
  expect(term('key', 'a "b", c')).toBe('key:"a \\"b\\", c"');
});
