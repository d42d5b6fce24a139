// Words about the broker as a whole, for header, footer and Start.
import type { Overview } from '../bindings/Overview';

/** Host and port as a client needs them. IPv6 hosts get their brackets. */
export function address(overview: Overview | null): string {
  if (!overview) return '…';
  return overview.host.includes(':') ? `[${overview.host}]:${overview.port}` : `${overview.host}:${overview.port}`;
}

/** One word for what the broker does, and its colour token. */
export function brokerWord(overview: Overview | null): { text: string; color: string } {
  switch (overview?.broker.state) {
    case undefined:
      return { text: 'Connecting', color: 'text3' };
    case 'starting':
      return { text: 'Starting', color: 'extended' };
    case 'listening':
      return { text: 'Listening', color: 'created' };
    case 'portTaken':
      return { text: 'Port in use', color: 'warn' };
    case 'notListening':
      return { text: 'Not listening', color: 'warn' };
    case 'failed':
      return { text: 'Failed', color: 'rejected' };
    case 'stopped':
      return { text: 'Stopped', color: 'text3' };
  }
}
