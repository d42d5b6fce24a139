// The vocabulary of chips and states: word, icon and colour of each. Sentences are not here; they come from the broker.
import type { Chip } from '../bindings/Chip';
import type { JobState } from '../bindings/JobState';
import type { Severity } from '../bindings/Severity';
import type { Strategy } from '../bindings/Strategy';
import type { IconName } from './icons';

export interface Word {
  text: string;
  /** For a cell, where `text` is too long. */
  short?: string;
  icon: IconName;
  /** A colour token without its dashes. */
  color: string;
}

export const CHIPS: Record<Chip, Word> = {
  created: { text: 'created', icon: 'plus', color: 'created' },
  returned: { text: 'returned', icon: 'return', color: 'returned' },
  extended: { text: 'extended', icon: 'extend', color: 'extended' },
  replaced: { text: 'replaced', icon: 'swap', color: 'replaced' },
  moved: { text: 'moved', icon: 'move', color: 'moved' },
  held: { text: 'held', icon: 'dots', color: 'moved' },
  rejected: { text: 'rejected', icon: 'cross', color: 'rejected' },
};

export const STATES: Record<JobState, Word> = {
  waiting: { text: 'waiting', icon: 'stateWaiting', color: 'text2' },
  prioritized: { text: 'prioritized', icon: 'statePrioritized', color: 'text2' },
  delayed: { text: 'delayed', icon: 'stateDelayed', color: 'extended' },
  active: { text: 'active', icon: 'stateActive', color: 'accent' },
  'waiting-children': { text: 'waiting for children', short: 'children', icon: 'stateChildren', color: 'moved' },
  completed: { text: 'completed', icon: 'check', color: 'created' },
  failed: { text: 'failed', icon: 'cross', color: 'rejected' },
  gone: { text: 'gone', icon: 'stateGone', color: 'rejected' },
};

export const SEVERITY_COLOR: Record<Severity, string> = { info: 'text2', warn: 'warn', error: 'rejected' };

export const STRATEGIES: Record<Strategy, string> = {
  plain: 'plain',
  extend: 'extend',
  replace: 'replace',
  keepLast: 'keep last if active',
};

/** Why a job is a dead letter: the protocol's word, and what it means. */
export const REASONS: Record<string, string> = {
  max_attempts_exceeded: 'attempts used up',
  timeout: 'ran too long',
  stalled: 'stalled',
  unknown: 'discarded',
  explicit_fail: 'failed',
};
