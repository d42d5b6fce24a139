// One npm program among those that share a queue: adds jobs, works them, or listens, through the official client.
//
//     bun peer.ts add PORT QUEUE                       reads a JSON list of {name, data} and answers with {id, result} for each
//     bun peer.ts work PORT QUEUE FILE NAME OPTIONS    works until its input ends; the file is told of in tests/kit/peers.py
//     bun peer.ts listen PORT QUEUE FILE NAME OPTIONS  the same for what `QueueEvents` hears of completed jobs
import { openSync, writeSync } from 'node:fs';
import { Queue, QueueEvents, UnrecoverableError, Worker } from 'bunqueue/client';
import type { Job } from 'bunqueue/client';

interface Data {
  ms?: number;
  fails?: number;
  fatal?: boolean;
  echo?: unknown;
}

const [role, port, name, path, own, options] = process.argv.slice(2) as ['add' | 'work' | 'listen', string, string, string, string, string];
const { PEER_CA: caFile, PEER_TOKEN: token } = process.env;
const connection = { host: '127.0.0.1', port: Number(port), token, tls: caFile ? { caFile } : undefined };

async function add() {
  const queue = new Queue(name, { connection });
  const wanted = (await Bun.stdin.json()) as { name: string; data: unknown }[];
  const jobs = await Promise.all(wanted.map((job) => queue.add(job.name, job.data)));
  const answers = await Promise.all(jobs.map(async (job) => ({ id: job.id, result: await job.waitUntilFinished(null, 20_000) })));
  console.log(JSON.stringify(answers));
  queue.close();
}

async function work() {
  const { concurrency, lock_ms, heartbeat_ms } = JSON.parse(options);
  const file = openSync(path, 'a');
  const tell = (what: string, lease: object, more: object) =>
    writeSync(file, `${JSON.stringify({ what, ...lease, t: performance.timeOrigin + performance.now(), ...more })}\n`);
  const processor = async (job: Job<Data>) => {
    const lease = { by: own, job: job.id, at: job.processedOn };
    tell('start', lease, { name: job.name, data: job.data });
    const { ms = 0, fails = 0, fatal = false, echo = null } = job.data ?? {};
    await Bun.sleep(ms);
    if (fatal || job.attemptsMade < fails) {
      tell('end', lease, { how: 'threw' });
      throw fatal ? new UnrecoverableError('as asked') : new Error('as asked');
    }
    tell('end', lease, { how: 'done' });
    return { by: own, at: lease.at, echo };
  };
  const worker = new Worker<Data>(name, processor, {
    connection, concurrency, batchSize: concurrency, lockDuration: lock_ms, heartbeatInterval: heartbeat_ms, pollTimeout: 1_000,
  });
  worker.on('error', () => {});
  await Bun.stdin.text();
  await worker.close();
}

async function listen() {
  const file = openSync(path, 'a');
  const events = new QueueEvents(name, { connection });
  events.on('error', () => {});
  events.on('completed', ({ jobId }) => writeSync(file, `${JSON.stringify({ what: 'heard', by: own, job: jobId })}\n`));
  await Bun.stdin.text();
  events.close();
}

await { add, work, listen }[role]();
process.exit(0);
