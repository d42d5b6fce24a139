// Preferences of this window. They live in the window's own storage; the broker does not know them.
import { theHost } from '../platform';
import type { TimesMode } from './format';

export type Theme = 'system' | 'dark' | 'light';
export type Density = 'normal' | 'compact';

export type Closing = 'ask' | 'keep' | 'quit';

export interface Settings {
  theme: Theme;
  density: Density;
  times: TimesMode;
  /** Whether single keys such as L and R act. */
  singleKeys: boolean;
  navCollapsed: boolean;
  /** What closing the desktop window does while the broker runs. */
  closing: Closing;
  /** The screen shown last, to start with it next time. */
  lastScreen: string;
  /** The language in which adds are shown as code. */
  language: string;
}

const STORAGE_KEY = 'onceover.settings';

const DEFAULTS: Settings = {
  theme: 'system',
  density: 'normal',
  times: 'mixed',
  singleKeys: true,
  navCollapsed: false,
  closing: 'ask',
  lastScreen: '',
  language: 'typescript',
};

export const settings = $state<Settings>({ ...DEFAULTS, ...load() });

export const TIMES_LABEL: Record<TimesMode, string> = {
  mixed: 'local · relative',
  relative: 'relative',
  local: 'local',
  utc: 'UTC',
};

/** Changes a preference, keeps it and shows it. */
export function setSetting<K extends keyof Settings>(name: K, value: Settings[K]): void {
  settings[name] = value;
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(settings));
  } catch {
    // Without storage the preference lasts as long as the window.
  }
  applyLook();
}

/** Height of a table row, in px; the same number as `--row`. */
export function rowHeight(): number {
  return settings.density === 'compact' ? 26 : 32;
}

/** Sets theme and density on the document; called again when the system changes its colours. */
export function applyLook(): void {
  const light =
    settings.theme === 'light' ||
    (settings.theme === 'system' && (globalThis.matchMedia?.('(prefers-color-scheme: light)').matches ?? false));
  document.documentElement.dataset.theme = light ? 'light' : 'dark';
  document.documentElement.dataset.density = settings.density;
  // The window shows itself in that colour; in a browser there is nobody to tell, and a shell that refuses shows it anyway.
  void theHost()
    .shell?.ask({ type: 'painted', light })
    .catch(() => undefined);
}

function load(): Partial<Settings> {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '{}') as Partial<Settings>;
  } catch {
    return {};
  }
}
