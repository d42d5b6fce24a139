// What the checks of the npm client share: a list of named checks, queues and workers that remember which of their
// methods were used, and the answers that the broker gave them.
import { deepStrictEqual, ok } from 'node:assert';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Queue, QueueEvents, Worker } from 'bunqueue/client';
import type { Job, WorkerOptions } from 'bunqueue/client';

export const connection = { host: '127.0.0.1', port: Number(process.argv[2]) };
export type Data = Record<string, unknown>;
export const same = deepStrictEqual;

// The checks by name, in the order in which they run.
export const checks: Record<string, () => Promise<void>> = {};

export const fresh = (word: string) => `${word}-${crypto.randomUUID().slice(0, 8)}`;
export const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

export async function until<T>(what: string, condition: () => T | Promise<T>, ms = 10_000): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const value = await condition();
    if (value) return value;
    ok(Date.now() < end, `${what}: did not happen in time`);
    await sleep(10);
  }
}

export async function refused(text: string, action: () => unknown): Promise<void> {
  const message = await Promise.resolve().then(action).then(() => 'nothing', (error: Error) => error.message);
  ok(message.includes(text), `refused with ${message}, wanted ${text}`);
}

// Names that were asked for by checks, and names that jobs were seen to have.
const used = new Set<string>();
const jobNames = new Set<string>();

// Passes everything on to an object of the client and notes each name that a check asks for. Methods run on the object
// itself, so what the client calls on its own behalf is not taken for something checked.
function spied<T extends object>(kind: string, target: T): T {
  return new Proxy(target, {
    get(object, name) {
      if (typeof name === 'string') used.add(`${kind}.${name}`);
      const value = Reflect.get(object, name, object);
      return typeof value === 'function' ? value.bind(object) : value;
    },
    set: (object, name, value) => Reflect.set(object, name, value, object),
  });
}

// A job that remembers its methods. Jobs are plain objects, so their names are those that they have.
export function spiedJob<T>(job: Job<T> | null): Job<T> {
  ok(job, 'there is no job');
  for (const name of Object.keys(job)) jobNames.add(`Job.${name}`);
  return spied('Job', job);
}

export const spiedEvents = (events: QueueEvents) => spied('QueueEvents', events);

// Members that the client's types call private or protected; at run time they look like all others.
function hidden(): Set<string> {
  const folder = dirname(fileURLToPath(import.meta.resolve('bunqueue/client')));
  const names = new Set<string>(['constructor']);
  for (const part of ['queue', 'queue/runtime', 'worker', 'worker/runtime', '.']) {
    for (const file of readdirSync(join(folder, part)).filter((name) => name.endsWith('.d.ts'))) {
      const types = readFileSync(join(folder, part, file), 'utf8');
      for (const found of types.matchAll(/^ +(?:private|protected) (?:(?:abstract|readonly|static|get|set) )*(\w+)/gm)) names.add(found[1]!);
    }
  }
  return names;
}

function offered(kind: string, prototype: object, without: Set<string>): string[] {
  const names: string[] = [];
  const end = Object.getPrototypeOf(QueueEvents.prototype);
  for (let level = prototype; level !== Object.prototype && level !== end; level = Object.getPrototypeOf(level)) {
    names.push(...Object.getOwnPropertyNames(level).filter((name) => !without.has(name)));
  }
  return names.map((name) => `${kind}.${name}`);
}

// What the client offers and no check has used.
export function unused(): string[] {
  const without = hidden();
  const classes = { Queue, Worker, QueueEvents };
  const names = Object.entries(classes).flatMap(([kind, { prototype }]) => offered(kind, prototype, without));
  ok(names.length > 130, `only ${names.length} methods were found`);
  return [...names, ...jobNames].filter((name) => !used.has(name)).sort();
}

interface Answer {
  cmd: string;
  ok: boolean;
  error?: string;
}

interface Site {
  // The next answer to a command of this name: `ok`, or its error.
  answer: (cmd: string) => Promise<string>;
}

// Opens a queue of its own for a check. Its transport is listened to, because many of the client's methods return
// without waiting and hide what the broker said.
export async function withQueue(check: (queue: Queue<Data>, site: Site) => Promise<void>, name = fresh('npm')): Promise<void> {
  // A pool of its own, or answers to other queues would be heard too.
  const queue = new Queue<Data>(name, { connection: { ...connection, poolSize: 2 } });
  const answers: Answer[] = [];
  const pool = (queue as unknown as { tcpPool: { send: (command: { cmd: string }) => Promise<Answer> } }).tcpPool;
  const send = pool.send.bind(pool);
  pool.send = async (command) => {
    const answer = await send(command);
    answers.push({ cmd: command.cmd, ok: answer.ok, error: answer.error });
    return answer;
  };
  const answer = async (cmd: string) => {
    const found = await until(`an answer to ${cmd}`, () => answers.find((one) => one.cmd === cmd));
    answers.splice(answers.indexOf(found), 1);
    return found.ok ? 'ok' : String(found.error);
  };
  const subject = spied('Queue', queue);
  try {
    await subject.waitUntilReady();
    await check(subject, { answer });
  } finally {
    queue.close();
  }
}

export async function withWorker(
  queue: Queue<Data>,
  processor: (job: Job<Data>) => Promise<unknown>,
  check: (worker: Worker<Data>) => Promise<void>,
  options: WorkerOptions = {},
): Promise<void> {
  const handler = (job: Job<Data>) => processor(spiedJob(job));
  const worker = new Worker<Data>(queue.name, handler, { connection, concurrency: 1, ...options });
  worker.on('error', () => {});
  try {
    await check(spied('Worker', worker));
  } finally {
    await worker.close();
  }
}

interface Pulled {
  id: string;
  token: string;
}

// Takes the next job by hand through a worker that does nothing on its own.
export async function pull(queue: Queue<Data>, options: WorkerOptions = {}): Promise<Pulled> {
  let pulled: Pulled | undefined;
  const worker = new Worker<Data>(queue.name, async () => null, { connection, autorun: false, heartbeatInterval: 0, ...options });
  holders.push(worker);
  const job = await worker.getNextJob();
  if (job) pulled = { id: String(job.id), token: String(job.token) };
  ok(pulled, 'there is nothing to pull');
  return pulled;
}

// Workers that hold jobs for a check: their connections stay open, or the broker would take the jobs back.
export const holders: Worker<Data>[] = [];

export const state = (queue: Queue<Data>, id: string) => queue.getJobState(id);
export const finished = (queue: Queue<Data>, id: string) =>
  until(`${id} completes`, async () => (await state(queue, id)) === 'completed');
