// Ids, keys and windows through the official npm client.
import { notStrictEqual, ok } from 'node:assert';
import type { Job } from 'bunqueue/client';
import { checks, finished, fresh, same, sleep, state, withQueue, withWorker } from './client';
import type { Data } from './client';

Object.assign(checks, {
  'the same jobId twice gives the same job': () =>
    withQueue(async (queue) => {
      const jobId = fresh('order');
      const first = await queue.add('charge', { amount: 1 }, { jobId });
      const second = await queue.add('charge', { amount: 2 }, { jobId });
      same([first.id, second.id], [jobId, jobId]);
      same(await queue.countAsync(), 1);
      same((await queue.getJob(jobId))?.data.amount, 1);
    }),

  'the same jobId twice, durable and so without batching': () =>
    withQueue(async (queue) => {
      const jobId = fresh('order');
      const first = await queue.add('charge', {}, { jobId, durable: true });
      const second = await queue.add('charge', {}, { jobId, durable: true });
      same([first.id, second.id], [jobId, jobId]);
      same(await queue.countAsync(), 1);
    }),

  'deduplication with a ttl: one job in the window, the next one after it': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'user-42', ttl: 700 } };
      const first = await queue.add('save', { n: 1 }, options);
      same((await queue.add('save', { n: 2 }, options)).id, first.id);
      same(await queue.countAsync(), 1);
      await sleep(900);
      notStrictEqual((await queue.add('save', { n: 3 }, options)).id, first.id);
      same(await queue.countAsync(), 2);
    }),

  'a key with a ttl stays to the end of its window although its job completed': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'digest', ttl: 60_000 } };
      const first = await queue.add('send', {}, options);
      await withWorker(queue, async () => 'sent', () => finished(queue, first.id).then(() => {}));
      same((await queue.add('send', {}, options)).id, first.id);
      same(await queue.countAsync(), 0);
    }),

  'a key without a ttl is held until its job ends': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'report' } };
      const first = await queue.add('build', {}, options);
      same((await queue.add('build', {}, options)).id, first.id);
      await withWorker(queue, async () => null, () => finished(queue, first.id).then(() => {}));
      notStrictEqual((await queue.add('build', {}, options)).id, first.id);
    }),

  'extend keeps the pending job and starts its window anew': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'index', ttl: 900, extend: true } };
      const first = await queue.add('index', { n: 1 }, options);
      for (const n of [2, 3]) {
        await sleep(600);
        same((await queue.add('index', { n }, options)).id, first.id);
      }
      same((await queue.getJob(first.id))?.data.n, 1);
      await sleep(1100);
      notStrictEqual((await queue.add('index', { n: 4 }, options)).id, first.id);
    }),

  'replace removes the pending job and queues a new one with the new data': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'settings', ttl: 60_000, replace: true } };
      const first = await queue.add('save', { theme: 'light' }, options);
      const second = await queue.add('save', { theme: 'dark' }, options);
      notStrictEqual(second.id, first.id);
      same(await queue.getJob(first.id), null);
      same((await queue.getJob(second.id))?.data.theme, 'dark');
      same(await queue.countAsync(), 1);
      same(await queue.getDeduplicationJobId('settings'), second.id);
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
        same(await queue.getDeduplicationJobId('sync'), second.id);
        goOn.resolve();
        await finished(queue, first.id);
        await finished(queue, second.id);
      });
    }),

  'a key can be looked up and removed; its job stays': () =>
    withQueue(async (queue) => {
      const options = { deduplication: { id: 'stuck', ttl: 60_000 } };
      const first = await queue.add('run', {}, options);
      same(await queue.getDeduplicationJobId('stuck'), first.id);
      same(await queue.removeDeduplicationKey('stuck'), 1);
      same(await queue.removeDeduplicationKey('stuck'), 0);
      same(await queue.getDeduplicationJobId('stuck'), null);
      same(await state(queue, first.id), 'waiting');
      const second = await queue.add('run', {}, options);
      notStrictEqual(second.id, first.id);
      same(await second.removeDeduplicationKey(), true);
      same(await queue.getDeduplicationJobId('stuck'), null);
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
      same(ids.length, 5);
      same([ids[0], ids[3]], [jobId, jobId]);
      same(ids[2], ids[1]);
      same(new Set(ids).size, 3);
      same(await queue.countAsync(), 3);
    }),
});
