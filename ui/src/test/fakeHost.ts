// A host made of functions, for tests. It records every request, so that a test can say what left the window.
import type { Changed } from '../bindings/Changed';
import type { Request } from '../bindings/Request';
import { HostError, useHost, type Host, type Link, type ReplyTo } from '../platform';
import { NOW, overview } from './fixtures';

type Handlers = { [T in Request['type']]?: (request: Extract<Request, { type: T }>) => ReplyTo<T> };

export class FakeHost implements Host {
  readonly requests: Request[] = [];
  private listeners: { changed: (hint: Changed) => void; link: (link: Link) => void }[] = [];
  private revision = 1;

  constructor(public handlers: Handlers) {
    this.handlers = { overview: () => overview(), ...handlers };
    useHost(this);
  }

  rpc<R extends Request>(request: R): Promise<ReplyTo<R['type']>> {
    this.requests.push(request);
    const handler = this.handlers[request.type] as ((request: R) => ReplyTo<R['type']>) | undefined;
    if (!handler) return Promise.reject(new HostError('badRequest', `No handler for ${request.type}.`));
    try {
      return Promise.resolve(handler(request));
    } catch (reason) {
      return Promise.reject(reason as Error);
    }
  }

  onChanged(changed: (hint: Changed) => void, link: (link: Link) => void): () => void {
    const listener = { changed, link };
    this.listeners.push(listener);
    return () => {
      this.listeners = this.listeners.filter((l) => l !== listener);
    };
  }

  /** Something changed. */
  hint(): void {
    this.revision += 1;
    for (const listener of this.listeners) listener.changed({ revision: this.revision, now: NOW });
  }

  link(link: Link): void {
    for (const listener of this.listeners) listener.link(link);
  }

  /** Requests of one type, in order. */
  sent<T extends Request['type']>(type: T): Extract<Request, { type: T }>[] {
    return this.requests.filter((r): r is Extract<Request, { type: T }> => r.type === type);
  }
}
