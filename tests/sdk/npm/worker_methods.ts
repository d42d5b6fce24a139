// The npm client's `Worker` and `QueueEvents`, each method with what it has to answer or change.
import { ok } from 'node:assert';
import { QueueEvents, Worker } from 'bunqueue/client';
import type { Job } from 'bunqueue/client';
import { checks, connection, finished, fresh, pull, refused, same, sleep, spiedEvents, spiedJob, state, until, withQueue, withWorker } from './client';
import type { Data } from './client';

Object.assign(checks, {
  'a worker runs, pauses, goes on and closes, and says so': () =>
    withQueue(async (queue) => {
      const told: string[] = [];
      await withWorker(queue, async (job) => job.data.n, async (worker) => {
        for (const name of ['ready', 'active', 'completed', 'drained', 'closed'] as const) worker.on(name as 'ready', () => told.push(name));
        same([worker.isRunning(), worker.isPaused(), worker.isClosed(), worker.closing], [false, false, false, null]);
        worker.run();
        await worker.waitUntilReady();
        same(worker.isRunning(), true);
        await finished(queue, (await queue.add('x', { n: 1 })).id);
        worker.pause();
        same([worker.isPaused(), worker.isRunning()], [true, false]);
        await sleep(100);
        const held = await queue.add('x', { n: 2 });
        await sleep(200);
        same(await state(queue, held.id), 'waiting');
        worker.resume();
        await finished(queue, held.id);
        await until('it is drained', () => told.includes('drained'));
        const closing = worker.close();
        ok(worker.closing, 'it does not say that it closes');
        await closing;
        same([worker.isClosed(), await queue.getWorkersCount()], [true, 0]);
      }, { autorun: false });
      same([told[0], told.at(-1), told.filter((name) => name === 'completed').length], ['ready', 'closed', 2]);
    }),

  'listeners of a worker come and go': () =>
    withQueue(async (queue) => {
      const told: string[] = [];
      await withWorker(queue, async () => null, async (worker) => {
        const always = () => told.push('always');
        worker.on('completed', always);
        worker.once('completed', () => told.push('once'));
        for (let n = 0; n < 2; n += 1) await finished(queue, (await queue.add('x', {})).id);
        await until('three calls', () => told.length === 3);
        worker.off('completed', always);
        await finished(queue, (await queue.add('x', {})).id);
        await sleep(100);
        same(told.sort(), ['always', 'always', 'once']);
      });
    }),

  'concurrency can be changed while it runs': () =>
    withQueue(async (queue) => {
      let running = 0;
      let most = 0;
      const processor = async () => {
        most = Math.max(most, (running += 1));
        await sleep(50);
        running -= 1;
      };
      await queue.addBulk(Array.from({ length: 12 }, () => ({ name: 'x', data: {} })));
      await withWorker(queue, processor, async (worker) => {
        same(worker.concurrency, 1);
        await until('one is done', async () => (await queue.getCompletedCount()) > 0);
        same(most, 1);
        worker.concurrency = 3;
        same(worker.concurrency, 3);
        await until('all are done', async () => (await queue.getCompletedCount()) === 12);
      });
      same(most, 3);
    }),

  'a running job is told that it is cancelled': () =>
    withQueue(async (queue) => {
      const told: string[] = [];
      let subject: Worker<Data>;
      const patient = async (job: Job<Data>) => {
        await until('it is cancelled', () => subject.isJobCancelled(job.id));
        return 'gave up';
      };
      await withWorker(queue, patient, async (worker) => {
        subject = worker;
        worker.on('cancelled', ({ jobId, reason }) => told.push(`${jobId} ${reason}`));
        same(worker.cancelJob('nobody'), false);
        const one = await queue.add('x', {});
        await until('it runs', () => worker.cancelJob(one.id, 'not wanted'));
        await finished(queue, one.id);
        const two = await queue.add('x', {});
        await until('it runs', () => (worker.cancelAllJobs('closing'), told.includes(`${two.id} closing`)));
        await finished(queue, two.id);
        ok(told.includes(`${one.id} not wanted`), told.join());
      });
    }),

  'a worker limits its own rate': () =>
    withQueue(async (queue) => {
      await queue.addBulk(Array.from({ length: 6 }, () => ({ name: 'x', data: {} })));
      await withWorker(queue, async () => null, async (worker) => {
        same(worker.isRateLimited(), false);
        await until('the first are done', async () => (await queue.getCompletedCount()) === 2);
        same([worker.getRateLimiterInfo()?.max, worker.getRateLimiterInfo()?.duration], [2, 2_000]);
        await sleep(300);
        same(await queue.getCompletedCount(), 2);
        worker.rateLimit(60_000);
        same(worker.isRateLimited(), true);
      }, { limiter: { max: 2, duration: 2_000 } });
    }),

  'jobs taken by hand: getNextJob, processJobManually, extendJobLocks': () =>
    withQueue(async (queue) => {
      await queue.addBulk([1, 2].map((n) => ({ name: 'x', data: { n } })));
      await withWorker(queue, async (job) => job.data.n, async (worker) => {
        const [one, two] = [await worker.getNextJob(), await worker.getNextJob()];
        ok(one && two);
        same([one.data, await worker.getNextJob()], [{ n: 1 }, undefined]);
        same(await worker.extendJobLocks([String(one.id), String(two.id)], [one.token!, 'wrong'], 45_000), 1);
        await worker.processJobManually(one);
        await finished(queue, String(one.id));
        same((await queue.getJob(String(one.id)))?.returnvalue, 1);
        await refused('Invalid or expired lock token', () => worker.processJobManually(two, 'wrong'));
        await worker.processJobManually(two, two.token);
        await finished(queue, String(two.id));
      }, { autorun: false });
    }),

  'a batch is processed as one, and a member can fail alone': () =>
    withQueue(async (queue) => {
      const jobs = await queue.addBulk([1, 2, 3].map((n) => ({ name: 'x', data: { n }, opts: { attempts: 1 } })));
      const batched = async (job: Job<Data>) => {
        const batch = job.getBatch!();
        const bad = batch.find((one) => one.data.n === 2);
        if (bad) spiedJob(bad).setAsFailed!(new Error('not this one'));
        return batch.length;
      };
      await withWorker(queue, batched, () => until('all end', async () => {
        const counts = await queue.getJobCountsAsync();
        return counts.completed === 2 && counts.failed === 1;
      }).then(() => {}), { batch: { size: 3, minSize: 3, timeout: 2_000 } });
      same((await queue.getJob(jobs[1]!.id))?.failedReason, 'not this one');
    }),

  'a job that runs longer than its lock lasts is not given to anyone else': () =>
    withQueue(async (queue) => {
      const runs: string[] = [];
      const job = await queue.add('long', {});
      // The broker looks for expired locks every five seconds.
      const long = async () => {
        runs.push(job.id);
        await sleep(7_000);
      };
      const options = { lockDuration: 1_000, heartbeatInterval: 300, concurrency: 2 };
      await withWorker(queue, long, () => until('it completes', async () => (await state(queue, job.id)) === 'completed', 15_000).then(() => {}), options);
      same(runs, [job.id]);
    }),

  'a job whose lock ran out is told as stalled to events and workers, and given to the next': () =>
    withQueue(async (queue) => {
      const told: string[] = [];
      const events = new QueueEvents(queue.name, { connection });
      events.on('stalled', ({ jobId }) => told.push(`events ${jobId}`));
      await events.waitUntilReady();
      const { id } = await queue.add('left', {});
      const { token } = await pull(queue, { lockDuration: 300 });
      await withWorker(queue, async () => 'taken over', async (worker) => {
        worker.on('stalled', (jobId) => told.push(`worker ${jobId}`));
        // The broker looks for expired locks every five seconds.
        await finished(queue, id);
      });
      events.close();
      same(told.sort(), [`events ${id}`, `worker ${id}`]);
      const job = await queue.getJob(id);
      same([job?.stalledCounter, job?.attemptsMade, job?.returnvalue], [1, 1, 'taken over']);
      await refused('not in processing state', () => queue.moveJobToCompleted(id, 'too late', token));
    }),

  'what is left of a worker: delay, startStalledCheckTimer': () =>
    withQueue(async (queue) => {
      await withWorker(queue, async () => null, async (worker) => {
        const began = performance.now();
        await worker.delay(30);
        ok(performance.now() - began >= 29);
        const stop = new AbortController();
        const delayed = worker.delay(60_000, stop);
        stop.abort();
        await refused('Delay aborted', () => delayed);
        same(await worker.startStalledCheckTimer(), undefined);
      });
    }),

  'queue events: every one that a queue can cause arrives, in order, with what it says': () =>
    withQueue(async (queue) => {
      const told: string[] = [];
      const events = spiedEvents(new QueueEvents(queue.name, { connection }));
      const names = [
        'waiting', 'duplicated', 'active', 'progress', 'completed', 'failed', 'retried', 'delayed', 'removed', 'waiting-children', 'paused', 'resumed',
      ];
      for (const name of names) {
        events.on(name as 'waiting', (event) => {
          const { jobId = '', ...rest } = event as unknown as Data;
          told.push(`${name} ${jobId} ${JSON.stringify(rest)}`);
        });
      }
      let first = '';
      events.once('waiting', ({ jobId }) => (first = jobId));
      await events.waitUntilReady();
      const deduplication = { id: 'told', ttl: 60_000 };
      const good = await queue.add('good', {}, { deduplication });
      await queue.add('good', {}, { deduplication });
      const bad = await queue.add('bad', {}, { attempts: 2, backoff: { type: 'fixed', delay: 50 } });
      const processor = async (job: Job<Data>) => {
        await job.updateProgress(50);
        if (job.name === 'bad') throw new Error('as asked');
        return 'fine';
      };
      await withWorker(queue, processor, () => until('it fails', async () => (await state(queue, bad.id)) === 'failed').then(() => {}));
      const moved = await queue.add('moved', {});
      await withWorker(queue, async () => null, async (worker) => {
        const taken = await worker.getNextJob();
        await queue.moveJobToDelayed(moved.id, Date.now() + 60_000, taken!.token);
        await queue.promoteJob(moved.id);
        const again = await worker.getNextJob();
        await queue.moveJobToWaitingChildren(moved.id, again!.token);
      }, { autorun: false });
      await queue.removeAsync(moved.id);
      await queue.pauseAsync();
      await queue.resumeAsync();
      await until('the last one arrives', () => told.includes('resumed  {}'));
      const of = (id: string) => told.filter((line) => line.split(' ')[1] === id).map((line) => line.replace(` ${id}`, ''));
      same(of(good.id), ['waiting {}', 'duplicated {}', 'active {}', 'progress {"data":50}', 'completed {"returnvalue":"fine"}']);
      const failure = 'failed {"failedReason":"as asked","data":{}}';
      same(of(bad.id), [
        'waiting {}', 'active {}', 'progress {"data":50}', failure, 'retried {"prev":"failed"}', 'active {}', 'progress {"data":50}', failure,
      ]);
      const [, , delayed, ...rest] = of(moved.id);
      ok(delayed?.startsWith('delayed {"delay":'), delayed);
      same(rest, ['active {}', 'waiting-children {}', 'removed {"prev":"waiting"}']);
      same([first, told.filter((line) => line.startsWith('paused')).length], [good.id, 1]);
      const errors: string[] = [];
      events.on('error', (error) => errors.push(error.message));
      events.emitError(new Error('from outside'));
      same(errors, ['from outside']);
      await events.disconnect();
      const closed = spiedEvents(new QueueEvents(fresh('closed'), { connection }));
      closed.close();
      await refused('closed', () => closed.waitUntilReady());
    }),
});
