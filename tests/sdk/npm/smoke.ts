// Smoke test of the official TypeScript client, as published on npm, under Bun, against a running broker.
//
//     bun smoke.ts PORT
//
// Every check has a name, a failed check does not stop the others, and the last line is "N passed, N failed".
// Queue names and job ids are fresh, so the broker may hold other data.
import { deepStrictEqual, notStrictEqual, ok } from 'node:assert';
import { Queue, QueueEvents, UnrecoverableError, Worker } from 'bunqueue/client';
import type { Job, WorkerOptions } from 'bunqueue/client';

const connection = { host: '127.0.0.1', port: Number(process.argv[2]) };
type Data = Record<string, unknown>;

const fresh = (word: string) => `${word}-${crypto.randomUUID().slice(0, 8)}`;
const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

async function until<T>(condition: () => T | Promise<T>, ms = 10_000): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const value = await condition();
    if (value) return value;
    ok(Date.now() < end, 'did not happen in time');
    await sleep(10);
  }
}

async function withQueue(check: (queue: Queue<Data>) => Promise<void>) {
  const queue = new Queue<Data>(fresh('npm'), { connection });
  try {
    await queue.waitUntilReady();
    await check(queue);
  } finally {
    queue.close();
  }
}

async function withWorker(
  queue: Queue<Data>,
  processor: (job: Job<Data>) => Promise<unknown>,
  check: (worker: Worker<Data>) => Promise<void>,
  options: WorkerOptions = {},
) {
  const worker = new Worker<Data>(queue.name, processor, { connection, concurrency: 1, ...options });
  worker.on('error', () => {});
  try {
    await check(worker);
  } finally {
    await worker.close();
  }
}

const state = async (queue: Queue<Data>, id: string) => (await queue.getJob(id))?.getState();
const finished = async (queue: Queue<Data>, id: string) => until(async () => (await state(queue, id)) === 'completed');

const checks: Record<string, () => Promise<void>> = {
  'the same jobId twice gives the same job': () =>
    withQueue(async (queue) => {
      const jobId = fresh('order');
      const first = await queue.add('charge', { amount: 1 }, { jobId });
      const second = await queue.add('charge', { amount: 2 }, { jobId });
      deepStrictEqual([first.id, second.id], [jobId, jobId]);
      deepStrictEqual(await queue.countAsync(), 1);
      deepStrictEqual((await queue.getJob(jobId))?.data.amount, 1);
    }),

  'the same jobId twice, durable and so without batching': () =>
    withQueue(async (queue) => {
      const jobId = fresh('order');
      const first = await queue.add('charge', {}, { jobId, durable: true });
      const second = await queue.add('charge', {}, { jobId, durable: true });
      deepStrictEqual([first.id, second.id], [jobId, jobId]);
      deepStrictEqual(await queue.countAsync(), 1);
    }),

  'deduplication with a ttl: one job in the window, the next one after it': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'user-42', ttl: 700 } };
      const first = await queue.add('save', { n: 1 }, options);
      deepStrictEqual((await queue.add('save', { n: 2 }, options)).id, first.id);
      deepStrictEqual(await queue.countAsync(), 1);
      await sleep(900);
      notStrictEqual((await queue.add('save', { n: 3 }, options)).id, first.id);
      deepStrictEqual(await queue.countAsync(), 2);
    }),

  'a key with a ttl stays to the end of its window although its job completed': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'digest', ttl: 60_000 } };
      const first = await queue.add('send', {}, options);
      await withWorker(queue, async () => 'sent', () => finished(queue, first.id).then(() => {}));
      deepStrictEqual((await queue.add('send', {}, options)).id, first.id);
      deepStrictEqual(await queue.countAsync(), 0);
    }),

  'a key without a ttl is held until its job ends': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'report' } };
      const first = await queue.add('build', {}, options);
      deepStrictEqual((await queue.add('build', {}, options)).id, first.id);
      await withWorker(queue, async () => null, () => finished(queue, first.id).then(() => {}));
      notStrictEqual((await queue.add('build', {}, options)).id, first.id);
    }),

  'extend keeps the pending job and starts its window anew': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'index', ttl: 900, extend: true } };
      const first = await queue.add('index', { n: 1 }, options);
      for (const n of [2, 3]) {
        await sleep(600);
        deepStrictEqual((await queue.add('index', { n }, options)).id, first.id);
      }
      deepStrictEqual((await queue.getJob(first.id))?.data.n, 1);
      await sleep(1100);
      notStrictEqual((await queue.add('index', { n: 4 }, options)).id, first.id);
    }),

  'replace removes the pending job and queues a new one with the new data': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'settings', ttl: 60_000, replace: true } };
      const first = await queue.add('save', { theme: 'light' }, options);
      const second = await queue.add('save', { theme: 'dark' }, options);
      notStrictEqual(second.id, first.id);
      deepStrictEqual(await queue.getJob(first.id), null);
      deepStrictEqual((await queue.getJob(second.id))?.data.theme, 'dark');
      deepStrictEqual(await queue.countAsync(), 1);
      deepStrictEqual(await queue.getDeduplicationJobId('settings'), second.id);
    }),

  'while the owner runs, extend is refused and replace queues a successor': () =>
    withQueue(async (queue) => {
      const started = Promise.withResolvers<void>();
      const goOn = Promise.withResolvers<void>();
      const first = await queue.add('sync', { n: 1 }, { deduplication: { id: 'sync', ttl: 60_000 } });
      const hold = async (job: Job<Data>) => {
        started.resolve();
        await goOn.promise;
        return job.data.n;
      };
      await withWorker(queue, hold, async () => {
        await started.promise;
        const extended = queue.add('sync', { n: 2 }, { deduplication: { id: 'sync', ttl: 60_000, extend: true } });
        const refusal = await extended.then(() => '', (error: Error) => error.message);
        ok(refusal.includes('Duplicate unique_key (extended TTL)'), `refused with ${refusal}`);
        const second = await queue.add('sync', { n: 3 }, { deduplication: { id: 'sync', ttl: 60_000, replace: true } });
        notStrictEqual(second.id, first.id);
        deepStrictEqual(await queue.getDeduplicationJobId('sync'), second.id);
        goOn.resolve();
        await finished(queue, first.id);
        await finished(queue, second.id);
      });
    }),

  'a key can be looked up and removed; its job stays': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'stuck', ttl: 60_000 } };
      const first = await queue.add('run', {}, options);
      deepStrictEqual(await queue.getDeduplicationJobId('stuck'), first.id);
      deepStrictEqual(await queue.removeDeduplicationKey('stuck'), 1);
      deepStrictEqual(await queue.removeDeduplicationKey('stuck'), 0);
      deepStrictEqual(await queue.getDeduplicationJobId('stuck'), null);
      deepStrictEqual(await state(queue, first.id), 'waiting');
      const second = await queue.add('run', {}, options);
      notStrictEqual(second.id, first.id);
      deepStrictEqual(await second.removeDeduplicationKey(), true);
      deepStrictEqual(await queue.getDeduplicationJobId('stuck'), null);
    }),

  'addBulk answers one job for each entry, in order, duplicates included': () =>
    withQueue(async (queue) => {
      const jobId = fresh('bulk');
      const deduplication = { id: 'bulk', ttl: 60_000 };
      const jobs = await queue.addBulk([
        { name: 'a', data: { n: 1 }, opts: { jobId } },
        { name: 'b', data: { n: 2 }, opts: { deduplication } },
        { name: 'c', data: { n: 3 }, opts: { deduplication } },
        { name: 'd', data: { n: 4 }, opts: { jobId } },
        { name: 'e', data: { n: 5 } },
      ]);
      const ids = jobs.map((job) => job.id);
      deepStrictEqual(ids.length, 5);
      deepStrictEqual([ids[0], ids[3]], [jobId, jobId]);
      deepStrictEqual(ids[2], ids[1]);
      deepStrictEqual(new Set(ids).size, 3);
      deepStrictEqual(await queue.countAsync(), 3);
    }),

  'a failed job is tried again after its backoff, keeps its key, then completes': () =>
    withQueue(async (queue) => {
      const tries: number[] = [];
      const flaky = async () => {
        tries.push(performance.now());
        if (tries.length < 3) throw new Error('not yet');
        return { tries: tries.length };
      };
      const deduplication = { id: 'flaky' };
      const job = await queue.add('flaky', {}, { attempts: 3, backoff: 400, deduplication });
      await withWorker(queue, flaky, async () => {
        await until(async () => tries.length === 1 && (await state(queue, job.id)) === 'delayed');
        deepStrictEqual((await queue.add('flaky', {}, { deduplication })).id, job.id);
        await finished(queue, job.id);
      });
      const pauses = tries.slice(1).map((time, index) => time - tries[index]!);
      ok(pauses.every((pause) => pause > 150 && pause < 5000), `pauses ${pauses}`);
      const done = await queue.getJob(job.id);
      deepStrictEqual(done?.attemptsMade, 2);
      deepStrictEqual(done?.returnvalue, { tries: 3 });
    }),

  'a job that used up its attempts, or fails unrecoverably, is a dead letter': () =>
    withQueue(async (queue) => {
      const broken = async (job: Job<Data>) => {
        if (job.data.fatal) throw new UnrecoverableError('bad payload');
        throw new Error('no luck');
      };
      const once = await queue.add('broken', { fatal: false }, { attempts: 1 });
      const fatal = await queue.add('broken', { fatal: true }, { attempts: 5 });
      await withWorker(queue, broken, async () => {
        await until(async () => (await queue.getJobCountsAsync()).failed === 2);
      });
      deepStrictEqual([await state(queue, once.id), await state(queue, fatal.id)], ['failed', 'failed']);
      deepStrictEqual((await queue.getJob(once.id))?.failedReason, 'no luck');
      deepStrictEqual((await queue.getDlqAsync()).length, 2);
      deepStrictEqual(await queue.retryDlqAsync(once.id), 1);
      deepStrictEqual(await state(queue, once.id), 'waiting');
    }),

  'queue events and worker events arrive, duplicates included': () =>
    withQueue(async (queue) => {
      const seen: string[] = [];
      const told = new Set<string>();
      const events = new QueueEvents(queue.name, { connection });
      events.on('error', (error: Error) => seen.push(`error ${error.message}`));
      for (const name of ['waiting', 'duplicated', 'active', 'progress', 'completed', 'failed', 'retried'] as const) {
        events.on(name as 'waiting', (event: { jobId: string }) => seen.push(`${name} ${event.jobId}`));
      }
      try {
        await events.waitUntilReady();
        const deduplication = { id: 'told', ttl: 60_000 };
        const good = await queue.add('half', { fail: false }, { deduplication });
        await queue.add('half', { fail: false }, { deduplication });
        const bad = await queue.add('half', { fail: true }, { attempts: 2, backoff: 50 });
        const half = async (job: Job<Data>) => {
          await job.updateProgress(50, 'halfway');
          await job.log('halfway');
          if (job.data.fail) throw new Error('as asked');
          return 'fine';
        };
        await withWorker(queue, half, async (worker) => {
          worker.on('completed', (job: Job<Data>, result: unknown) => told.add(`completed ${job.id} ${result}`));
          worker.on('failed', (job: Job<Data>, error: Error) => told.add(`failed ${job.id} ${error.message}`));
          await until(async () => (await state(queue, bad.id)) === 'failed');
        });
        const wanted = [
          `waiting ${good.id}`, `duplicated ${good.id}`, `active ${good.id}`, `progress ${good.id}`,
          `completed ${good.id}`, `failed ${bad.id}`, `retried ${bad.id}`,
        ];
        for (const event of wanted) await until(() => seen.includes(event)).catch(() => ok(false, `no ${event} in ${seen}`));
        ok(told.has(`completed ${good.id} fine`) && told.has(`failed ${bad.id} as asked`), `worker told ${[...told]}`);
        deepStrictEqual((await queue.getJobLogs(good.id)).count, 1);
      } finally {
        await events.close();
      }
    }),

  'higher priority first, then first in first out; a delayed job waits': () =>
    withQueue(async (queue) => {
      const ran: unknown[] = [];
      await queue.add('low', { label: 'low' });
      await queue.add('high', { label: 'high' }, { priority: 10 });
      await queue.add('low2', { label: 'low2' });
      await queue.add('later', { label: 'later' }, { delay: 60_000 });
      await withWorker(
        queue,
        async (job) => { ran.push(job.data.label); },
        async () => { await until(() => ran.length === 3); },
        { batchSize: 1 },
      );
      deepStrictEqual(ran, ['high', 'low', 'low2']);
      deepStrictEqual((await queue.getJobCountsAsync()).delayed, 1);
    }),

  'job names arrive as they were sent': () =>
    withQueue(async (queue) => {
      const names: string[] = [];
      await queue.add('welcome', { name: 'data may have a name too' });
      await withWorker(
        queue,
        async (job) => { names.push(job.name, String(job.data.name)); },
        async () => { await until(() => names.length === 2); },
      );
      deepStrictEqual(names, ['welcome', 'data may have a name too']);
    }),

  'pause, resume, promote, remove, drain and obliterate': () =>
    withQueue(async (queue) => {
      const later = await queue.add('a', {}, { delay: 60_000 });
      await queue.promoteJob(later.id);
      deepStrictEqual(await state(queue, later.id), 'waiting');
      await queue.pauseAsync();
      deepStrictEqual(await queue.isPausedAsync(), true);
      await queue.resumeAsync();
      deepStrictEqual(await queue.isPausedAsync(), false);
      await queue.removeAsync(later.id);
      deepStrictEqual(await queue.getJob(later.id), null);
      await queue.add('b', {});
      deepStrictEqual(await queue.drainAsync(), 1);
      await queue.obliterateAsync();
      deepStrictEqual(await queue.countAsync(), 0);
    }),
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  const began = performance.now();
  try {
    await check();
    console.log(`ok   npm: ${name} (${(performance.now() - began).toFixed(0)} ms)`);
  } catch (error) {
    failed += 1;
    const at = String((error as Error).stack).match(/smoke\.ts:\d+/g)?.join(' ');
    console.log(`FAIL npm: ${name}: ${String((error as Error).message).replaceAll('\n', ' ')} (${at})`);
  }
}
console.log(`${Object.keys(checks).length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
