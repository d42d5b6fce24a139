// Picks the door. Nothing else in the front end knows which host it runs in.
import { httpHost } from './http';
import { tauriHost } from './tauri';
import type { Host } from './types';

export type { ActionRequest, Host, Link, ReplyTo, Shell, ShellReply } from './types';
export { HostError } from './types';

let host: Host | null = null;

/** The host of this window. */
export function theHost(): Host {
  host ??= '__TAURI_INTERNALS__' in window ? tauriHost() : httpHost();
  return host;
}

/** Puts another host in place; tests bring their own. */
export function useHost(other: Host): void {
  host = other;
}
