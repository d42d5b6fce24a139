// The door to the host, as the rest of the front end sees it. Two hosts implement it: the desktop window and the browser.
// The table `Replies` says which view answers which request; the views themselves are generated from Rust.
import type { ActionResult } from '../bindings/ActionResult';
import type { AddDetail } from '../bindings/AddDetail';
import type { AddsPage } from '../bindings/AddsPage';
import type { Changed } from '../bindings/Changed';
import type { AttentionView } from '../bindings/AttentionView';
import type { ClientsView } from '../bindings/ClientsView';
import type { DraftView } from '../bindings/DraftView';
import type { DryRun } from '../bindings/DryRun';
import type { ExportPart } from '../bindings/ExportPart';
import type { RunView } from '../bindings/RunView';
import type { AddRead } from '../bindings/AddRead';
import type { Failure } from '../bindings/Failure';
import type { GroupsView } from '../bindings/GroupsView';
import type { JobDetail } from '../bindings/JobDetail';
import type { JobsPage } from '../bindings/JobsPage';
import type { JobsPreview } from '../bindings/JobsPreview';
import type { KeyDetail } from '../bindings/KeyDetail';
import type { KeysPage } from '../bindings/KeysPage';
import type { KeysPreview } from '../bindings/KeysPreview';
import type { Overview } from '../bindings/Overview';
import type { PlaygroundView } from '../bindings/PlaygroundView';
import type { QueuesView } from '../bindings/QueuesView';
import type { ReleasePreview } from '../bindings/ReleasePreview';
import type { Request } from '../bindings/Request';
import type { ScenariosView } from '../bindings/ScenariosView';
import type { SchedulesView } from '../bindings/SchedulesView';
import type { WebhooksView } from '../bindings/WebhooksView';
import type { SettingsView } from '../bindings/SettingsView';
import type { Text } from '../bindings/Text';

interface Reads {
  overview: Overview;
  adds: AddsPage;
  add: AddDetail;
  draft: DraftView;
  addData: Text;
  readAdd: AddRead;
  dryRun: DryRun;
  run: RunView;
  exportAdds: ExportPart;
  keys: KeysPage;
  key: KeyDetail;
  releasePreview: ReleasePreview;
  keysPreview: KeysPreview;
  attention: AttentionView;
  jobs: JobsPage;
  job: JobDetail;
  jobData: Text;
  jobsPreview: JobsPreview;
  queues: QueuesView;
  schedules: SchedulesView;
  webhooks: WebhooksView;
  groups: GroupsView;
  settings: SettingsView;
  clients: ClientsView;
  scenarios: ScenariosView;
  playground: PlaygroundView;
}

/** The answer to a request. Whatever is not a read is an action. */
export type ReplyTo<T extends Request['type']> = T extends keyof Reads ? Reads[T] : ActionResult;

/** The requests that change something. */
export type ActionRequest = Exclude<Request, { type: keyof Reads }>;

/** Whether the host can be asked, and since when not (ms, by the window's clock). */
export type Link =
  | { state: 'connected' }
  | { state: 'lost'; since: number; attempts: number }
  | { state: 'unauthorized' };

/** What only a desktop program can do for its page. */
export type ShellRequest =
  /** The page has its colours and can be seen. */
  | { type: 'painted'; light: boolean }
  /** The page has taken over the question whether to close. */
  | { type: 'closing' }
  /** The window goes: the program with it, or not. */
  | { type: 'leave'; keep: boolean }
  | { type: 'openDataFolder' }
  /** Starts a broker that ended. */
  | { type: 'restart' }
  | { type: 'log' };

export interface ShellReply {
  /** Whether a window that is gone can be brought back. */
  canKeep: boolean;
  /** Last lines of the log, oldest first. */
  log: string[];
}

/** The desktop program around the page. */
export interface Shell {
  /** Rejects with an `Error` that says what did not work. */
  ask(request: ShellRequest): Promise<ShellReply>;
  /** Calls back when the window is asked to close. Returns the way to stop. */
  onClosing(closing: () => void): () => void;
}

export interface Host {
  /** Absent in a browser. */
  readonly shell?: Shell;
  /** Asks the host once. Never repeated by the transport. Rejects with a `HostError`. */
  rpc<R extends Request>(request: R): Promise<ReplyTo<R['type']>>;
  /** Calls back when something the window could show has changed, and when the link comes or goes. Returns the way to stop. */
  onChanged(changed: (hint: Changed) => void, link: (link: Link) => void): () => void;
}

/** A request that got no view. `unreachable` is the transport's own; all other codes are the broker's. */
export class HostError extends Error {
  constructor(
    readonly code: Failure['code'] | 'unreachable',
    message: string,
  ) {
    super(message);
    this.name = 'HostError';
  }
}
