// What the options of an add and of a worker do to a job, seen through the npm client.
import { ok } from 'node:assert';
import type { Job } from 'bunqueue/client';
import { checks, finished, same, sleep, state, until, withQueue, withWorker } from './client';
import type { Data } from './client';

Object.assign(checks, {
  'removeOnComplete and removeOnFail, of a job or of its worker, leave nothing behind': () =>
    withQueue(async (queue) => {
      const processor = async (job: Job<Data>) => {
        if (job.name === 'bad') throw new Error('no');
      };
      const gone = async (options: object) => {
        const jobs = await queue.addBulk(['good', 'bad'].map((name) => ({ name, data: {}, opts: { attempts: 1, ...options } })));
        await until('both are removed', async () => (await Promise.all(jobs.map((job) => state(queue, job.id)))).every((one) => one === 'unknown'));
      };
      await withWorker(queue, processor, () => gone({ removeOnComplete: true, removeOnFail: true }));
      await withWorker(queue, processor, () => gone({}), { removeOnComplete: true, removeOnFail: true });
      same([(await queue.getDlqAsync()).length, Object.values(await queue.getJobCountsAsync()).reduce((sum, count) => sum + count)], [0, 0]);
    }),

  'timeout: a job that runs longer has failed at that moment, and its late result does not count': () =>
    withQueue(async (queue) => {
      const began = performance.now();
      const { id } = await queue.add('slow', {}, { timeout: 400, attempts: 1 });
      const slow = async () => {
        await sleep(1_200);
        return 'late';
      };
      await withWorker(queue, slow, async () => {
        await until('it fails', async () => (await state(queue, id)) === 'failed');
        const after = performance.now() - began;
        ok(after >= 400 && after < 1_100, `failed after ${after} ms`);
      });
      same([await state(queue, id), (await queue.getJob(id))?.failedReason], ['failed', 'Job timeout exceeded']);
    }),

  'repeat: a job comes again as often as its limit says, each time with an id of its own': () =>
    withQueue(async (queue) => {
      const ran: string[] = [];
      await withWorker(queue, async (job) => ran.push(`${job.id} ${job.data.n}`), async () => {
        await queue.add('again', { n: 7 }, { repeat: { every: 100, limit: 2 } });
        await until('it ran three times', () => ran.length === 3);
        await sleep(400);
      });
      same([new Set(ran).size, ran.every((line) => line.endsWith(' 7')), await queue.countAsync()], [3, true, 0]);
    }),

  'higher priority first, then last in first out if asked, then first in first out; a delayed job waits': () =>
    withQueue(async (queue) => {
      const ran: string[] = [];
      await queue.addBulk([
        { name: 'low', data: {} }, { name: 'high', data: {}, opts: { priority: 10 } }, { name: 'low2', data: {} },
        { name: 'last in', data: {}, opts: { lifo: true } }, { name: 'later', data: {}, opts: { delay: 60_000 } },
      ]);
      await withWorker(queue, async (job) => ran.push(job.name), () => until('four have run', () => ran.length === 4).then(() => {}));
      same([ran, await queue.getDelayedCount()], [['high', 'last in', 'low', 'low2'], 1]);
    }),

  'job names and data arrive as they were sent': () =>
    withQueue(async (queue) => {
      const data = [{ name: 'data may have a name too' }, { text: 'grüße 🦊', deep: [1, [null, { a: 0.5 }]] }, { when: 2 ** 40, none: null }];
      const seen: unknown[] = [];
      const jobs = await queue.addBulk(data.map((one, n) => ({ name: `welcome ${n}`, data: one })));
      await withWorker(queue, async (job) => (seen.push([job.name, job.data]), job.data), () => finished(queue, jobs[2]!.id).then(() => {}));
      same(seen, data.map((one, n) => [`welcome ${n}`, one]));
      same((await queue.getJob(jobs[1]!.id))?.returnvalue, data[1]);
    }),
});
