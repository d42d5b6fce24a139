// The place in the program, kept in the address: `#/keys?q=queue%3Async&chip=attention&open=...`.
// So Back works, a state can be shared, and a test can start anywhere.
import { setSetting } from './settings.svelte';

export const SCREENS = [
  'start',
  'adds',
  'keys',
  'jobs',
  'queues',
  'schedules',
  'clients',
  'playground',
  'settings',
] as const;
export type Screen = (typeof SCREENS)[number];

export interface Place {
  screen: Screen;
  /** Filter, chip, sort and open item, by their short names. */
  params: Record<string, string>;
}

export function parsePlace(hash: string): Place | null {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const screen = SCREENS.find((s) => s === path);
  if (!screen) return null;
  return { screen, params: Object.fromEntries(new URLSearchParams(query)) };
}

export function formatPlace(place: Place): string {
  const kept = Object.entries(place.params).filter(([, value]) => value !== '');
  const query = new URLSearchParams(kept).toString();
  return `#/${place.screen}${query ? `?${query}` : ''}`;
}

export const route = $state<{ place: Place }>({ place: { screen: 'start', params: {} } });

/** Follows the address from now on, starting at `fallback` when it names no place. Returns the way to stop. */
export function startRoute(fallback: Screen): () => void {
  const read = () => {
    route.place = parsePlace(location.hash) ?? { screen: fallback, params: {} };
  };
  read();
  addEventListener('hashchange', read);
  return () => removeEventListener('hashchange', read);
}

/** Goes to a screen, with a step in the history. */
export function go(screen: Screen, params: Record<string, string> = {}): void {
  setSetting('lastScreen', screen);
  set({ screen, params }, true);
}

/** Changes parts of the present place. Opening an item is a step in the history, typing a filter is not. */
export function setParams(params: Record<string, string>, step = false): void {
  set({ screen: route.place.screen, params: { ...route.place.params, ...params } }, step);
}

function set(place: Place, step: boolean): void {
  const hash = formatPlace(place);
  if (hash === location.hash) return;
  if (step) history.pushState(null, '', hash);
  else history.replaceState(null, '', hash);
  route.place = parsePlace(hash) ?? place;
}

/** An item's two-part name in one parameter. */
export function joinKey(queue: string, key: string): string {
  return `${encodeURIComponent(queue)}/${encodeURIComponent(key)}`;
}

export function splitKey(joined: string): { queue: string; key: string } {
  const [queue = '', key = ''] = joined.split('/');
  return { queue: decodeURIComponent(queue), key: decodeURIComponent(key) };
}

/** A filter term, quoted when the value has a space, quote or comma. */
export function term(field: string, value: string): string {
  return /[\s",]/.test(value) ? `${field}:"${value.replace(/(["\\])/g, '\\$1')}"` : `${field}:${value}`;
}
