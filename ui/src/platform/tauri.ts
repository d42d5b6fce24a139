// The desktop window's door: one command for requests, one channel for change hints. It cannot get lost while the window lives.
import { Channel, invoke } from '@tauri-apps/api/core';
import type { Changed } from '../bindings/Changed';
import type { Failure } from '../bindings/Failure';
import { HostError, type Host, type Shell, type ShellReply } from './types';

export function tauriHost(): Host {
  return {
    shell: theShell(),
    async rpc(request) {
      try {
        return await invoke('rpc', { request });
      } catch (reason) {
        throw asHostError(reason);
      }
    },
    onChanged(changed, link) {
      let open = true;
      const channel = new Channel<Changed>();
      channel.onmessage = (hint) => {
        if (open) changed(hint);
      };
      invoke('subscribe', { channel }).then(
        () => link({ state: 'connected' }),
        () => link({ state: 'lost', since: Date.now(), attempts: 0 }),
      );
      return () => {
        open = false;
      };
    },
  };
}

function theShell(): Shell {
  return {
    ask: (request) =>
      invoke<ShellReply>('shell', { request }).catch((reason: unknown) => Promise.reject(new Error(String(reason)))),
    onClosing(closing) {
      addEventListener('onceover-closing', closing);
      return () => removeEventListener('onceover-closing', closing);
    },
  };
}

function asHostError(reason: unknown): HostError {
  const failure = reason as Partial<Failure> | null;
  if (failure && typeof failure === 'object' && failure.code && failure.message) {
    return new HostError(failure.code, failure.message);
  }
  return new HostError('unreachable', String(reason));
}
