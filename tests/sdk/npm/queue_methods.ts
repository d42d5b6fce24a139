// The npm client's `Queue`: adding, lists, counts, control, retries. Each method with what it has to answer or change.
import { ok } from 'node:assert';
import { checks, connection, fresh, pull, same, sleep, spiedJob, state, until, withQueue, withWorker } from './client';

const ids = (jobs: { id: string }[]) => jobs.map((job) => job.id).sort();

Object.assign(checks, {
  'add and addBulk: every option arrives in the job': () =>
    withQueue(async (queue) => {
      const jobId = fresh('all');
      const options = {
        priority: 7, delay: 60_000, attempts: 5, backoff: { type: 'fixed' as const, delay: 250 }, timeout: 9_000, jobId, lifo: true,
        deduplication: { id: 'all', ttl: 70_000 }, removeOnComplete: true, removeOnFail: true, stallTimeout: 8_000, tags: ['a', 'b'],
      };
      const added = await queue.add('all', { n: 1 }, options);
      same([added.id, added.name, added.data], [jobId, 'all', { n: 1 }]);
      const job = spiedJob(await queue.getJob(jobId));
      same([job.name, job.data, job.priority, job.opts.attempts, job.opts.timeout], ['all', { n: 1 }, 7, 5, 9_000]);
      same([job.opts.backoff, job.opts.lifo, job.opts.removeOnComplete], [{ type: 'fixed', delay: 250 }, true, true]);
      same([job.delay, job.deduplicationId], [60_000, jobId]);
      same(await queue.getDeduplicationJobId('all'), jobId);
      const bulk = await queue.addBulk([1, 2, 3].map((n) => ({ name: 'b', data: { n }, opts: { priority: n } })));
      const read = await Promise.all(bulk.map((one) => queue.getJob(one.id)));
      same(read.map((one) => [one?.data.n, one?.priority]), [[1, 1], [2, 2], [3, 3]]);
    }),

  'one job of each state: the lists show it, the counts count it': () =>
    withQueue(async (queue) => {
      const [done, dead, held] = await queue.addBulk(['done', 'dead', 'held'].map((name) => ({ name, data: {}, opts: { attempts: 1 } })));
      ok(done && dead && held);
      await queue.moveJobToCompleted(done.id, { ok: 1 }, (await pull(queue)).token);
      await queue.moveJobToFailed(dead.id, new Error('no'), (await pull(queue)).token);
      await pull(queue);
      const waiting = await queue.addBulk([{ name: 'w', data: {} }, { name: 'w', data: {} }]);
      const urgent = await queue.add('urgent', {}, { priority: 3 });
      const later = await queue.add('later', {}, { delay: 60_000 });
      const child = await queue.add('child', {}, { dependsOn: [waiting[0]!.id] } as object);
      const wanted = { waiting: ids(waiting), delayed: [later.id], active: [held.id], completed: [done.id], failed: [dead.id] };
      same(
        {
          waiting: ids(await queue.getWaitingAsync()), delayed: ids(await queue.getDelayedAsync()), active: ids(await queue.getActiveAsync()),
          completed: ids(await queue.getCompletedAsync()), failed: ids(await queue.getFailedAsync()),
        },
        wanted,
      );
      same([ids(await queue.getPrioritized()), ids(await queue.getWaitingChildren())], [[urgent.id], [child.id]]);
      const counts = { waiting: 2, prioritized: 1, active: 1, completed: 1, failed: 1, delayed: 1, paused: 0, 'waiting-children': 1 };
      same(await queue.getJobCountsAsync(), counts);
      same(await queue.getJobCounts(), counts);
      same(
        await Promise.all([
          queue.getWaitingCount(), queue.getActiveCount(), queue.getCompletedCount(), queue.getFailedCount(), queue.getDelayedCount(),
          queue.getPrioritizedCount(), queue.getWaitingChildrenCount(), queue.countAsync(),
        ]),
        [2, 1, 1, 1, 1, 1, 1, 4],
      );
      same(await queue.getCountsPerPriorityAsync(), { 0: 3, 3: 1 });
      same((await queue.getJobsAsync({ end: -1 })).length, 8);
      same(ids(await queue.getJobsAsync({ state: ['completed', 'failed'] })), ids([done, dead]));
      const pages = await Promise.all([[0, 1], [1, 2]].map(([start, end]) => queue.getJobsAsync({ state: 'waiting', start, end })));
      same(ids(pages.flat()), ids(waiting));
      same(await Promise.all([done, dead, held, child].map((job) => queue.getJobState(job.id))), ['completed', 'failed', 'active', 'waiting-children']);
      same([await queue.getJobState('nobody'), await queue.getJob('nobody')], ['unknown', null]);
    }),

  'what only an embedded queue can answer at once is empty, not wrong': () =>
    withQueue(async (queue) => {
      await queue.add('x', {});
      same([queue.getJobs(), queue.getWaiting(), queue.getDelayed(), queue.getActive(), queue.getCompleted(), queue.getFailed()], [[], [], [], [], [], []]);
      same([queue.count(), queue.getCountsPerPriority(), queue.isPaused(), queue.clean(0, 10), queue.getDlq()], [0, {}, false, [], []]);
      same([queue.getDlqStats().total, queue.getDlqConfig()], [0, {}]);
    }),

  'pause and resume, waited for or not': () =>
    withQueue(async (queue, { answer }) => {
      await queue.pauseAsync();
      same(await queue.isPausedAsync(), true);
      await queue.add('x', {});
      same((await queue.getJobCountsAsync()).paused, 1);
      await queue.resumeAsync();
      same(await queue.isPausedAsync(), false);
      same([await answer('Pause'), await answer('Resume')], ['ok', 'ok']);
      queue.pause();
      same(await answer('Pause'), 'ok');
      same(await queue.isPausedAsync(), true);
      queue.resume();
      same(await answer('Resume'), 'ok');
      same(await queue.isPausedAsync(), false);
    }),

  'remove, drain, clean and obliterate, waited for or not': () =>
    withQueue(async (queue, { answer }) => {
      const add = async (count: number) => (await queue.addBulk(Array.from({ length: count }, () => ({ name: 'x', data: {} })))).map((job) => job.id);
      const [first, second] = await add(2);
      await queue.removeAsync(first!);
      same([await answer('Cancel'), await state(queue, first!)], ['ok', 'unknown']);
      queue.remove(second!);
      same([await answer('Cancel'), await state(queue, second!)], ['ok', 'unknown']);
      await queue.removeAsync('nobody');
      same(await answer('Cancel'), 'Job not found or cannot be cancelled');
      await add(3);
      same([await queue.drainAsync(), await answer('Drain')], [3, 'ok']);
      await add(2);
      queue.drain();
      same([await answer('Drain'), await queue.countAsync()], ['ok', 0]);
      const [done] = await add(1);
      await queue.moveJobToCompleted(done!, null, (await pull(queue)).token);
      same(await queue.cleanAsync(60_000, 10, 'completed'), []);
      await until('the job is old enough', async () => (await queue.cleanAsync(0, 10, 'completed'))[0] === done);
      await add(1);
      await pull(queue);
      await queue.obliterateAsync();
      same(await answer('Obliterate'), 'ok');
      same(Object.values(await queue.getJobCountsAsync()).every((count) => count === 0), true);
      await add(1);
      queue.obliterate();
      same([await answer('Obliterate'), await queue.countAsync()], ['ok', 0]);
    }),

  'promoteJob and promoteJobs': () =>
    withQueue(async (queue) => {
      const jobs = await queue.addBulk(Array.from({ length: 4 }, () => ({ name: 'x', data: {}, opts: { delay: 60_000 } })));
      await queue.promoteJob(jobs[3]!.id);
      same(await state(queue, jobs[3]!.id), 'waiting');
      same([await queue.promoteJobs({ count: 2 }), await queue.promoteJobs()], [2, 1]);
    }),

  'failed and completed jobs are retried one by one, by number and all': () =>
    withQueue(async (queue, { answer }) => {
      const jobs = await queue.addBulk(Array.from({ length: 4 }, () => ({ name: 'x', data: {}, opts: { attempts: 1 } })));
      const all = jobs.map((job) => job.id);
      for (const id of all) await queue.moveJobToFailed(id, new Error('no'), (await pull(queue)).token);
      await queue.retryJob(all[0]!);
      same(await state(queue, all[0]!), 'waiting');
      await queue.retryJobs({ state: 'failed', count: 1 });
      same(await queue.getFailedCount(), 2);
      await queue.retryJobs();
      same(await queue.getFailedCount(), 0);
      for (const id of all) await queue.moveJobToCompleted(id, null, (await pull(queue)).token);
      same([await queue.retryCompletedAsync(all[0]), await state(queue, all[0]!)], [1, 'waiting']);
      same([queue.retryCompleted(all[1]), await answer('RetryCompleted'), await answer('RetryCompleted')], [0, 'ok', 'ok']);
      same(await state(queue, all[1]!), 'waiting');
      await queue.retryJobs({ state: 'completed' });
      same([await queue.getCompletedCount(), await queue.getWaitingCount()], [0, 4]);
      await queue.retryJob('nobody').then(() => ok(false), (error: Error) => ok(error.message.includes('unknown'), error.message));
    }),

  'dead letters: entries, jobs, figures, retried, removed and purged': () =>
    withQueue(async (queue, { answer }) => {
      const jobs = await queue.addBulk(Array.from({ length: 6 }, (_, n) => ({ name: 'dead', data: { n }, opts: { attempts: 1 } })));
      const all = jobs.map((job) => job.id);
      for (const id of all) await queue.moveJobToFailed(id, new Error('broken'), (await pull(queue)).token);
      const entries = await queue.getDlqAsync();
      same(entries.map((entry) => [entry.job.id, entry.reason, entry.error]), all.map((id) => [id, 'max_attempts_exceeded', 'broken']));
      same(entries[0]?.attempts.map((attempt) => [attempt.attempt, attempt.error]), [[1, 'broken']]);
      same(ids(await queue.getDlqJobsAsync(2)), ids(jobs.slice(0, 2)));
      const stats = await queue.getDlqStatsAsync();
      same([stats.total, stats.byReason.max_attempts_exceeded, stats.byQueue[queue.name]], [6, 6, 6]);
      const job = spiedJob(entries[0]!.job);
      same([await job.isFailed(), job.failedReason], [true, 'broken']);
      same([await queue.retryDlqAsync(all[0]), await state(queue, all[0]!)], [1, 'waiting']);
      same([queue.retryDlq(all[1]), await answer('RetryDlq'), await answer('RetryDlq')], [0, 'ok', 'ok']);
      same([await state(queue, all[1]!)], ['waiting']);
      same([await queue.removeDlqJob(all[2]!), await queue.removeDlqJobAsync(all[3]!), await queue.removeDlqJob('nobody')], [true, true, false]);
      same([await state(queue, all[2]!), await state(queue, all[3]!)], ['unknown', 'unknown']);
      same([await queue.retryDlqByFilterAsync({ reason: 'timeout' }), await queue.retryDlqByFilterAsync({ limit: 1 })], [0, 1]);
      same([queue.retryDlqByFilter({ reason: 'stalled' }), (await queue.getDlqAsync()).length], [0, 1]);
      same([await queue.purgeDlqAsync(), queue.purgeDlq(), await answer('PurgeDlq'), await answer('PurgeDlq')], [1, 0, 'ok', 'ok']);
      same((await queue.getDlqAsync()).length, 0);
    }),

  'stall settings, waited for or not': () =>
    withQueue(async (queue, { answer }) => {
      const defaults = { enabled: true, stallInterval: 30_000, maxStalls: 3, gracePeriod: 5_000 };
      same(await queue.getStallConfigAsync(), defaults);
      await queue.setStallConfigAsync({ stallInterval: 12_000 });
      same([await answer('SetStallConfig'), (await queue.getStallConfigAsync()).stallInterval], ['ok', 12_000]);
      queue.setStallConfig({ maxStalls: 7 });
      same([await answer('SetStallConfig'), (await queue.getStallConfigAsync()).maxStalls], ['ok', 7]);
      // What this returns without waiting is what the client itself has sent so far.
      same(queue.getStallConfig().maxStalls, 7);
    }),

  'settings of dead letters, waited for or not': () =>
    withQueue(async (queue, { answer }) => {
      const defaults = { autoRetry: false, autoRetryInterval: 3_600_000, maxAutoRetries: 3, maxAge: 604_800_000, maxEntries: 10_000 };
      same(await queue.getDlqConfigAsync(), defaults);
      await queue.setDlqConfigAsync({ autoRetry: true, autoRetryInterval: 2_000, maxAge: null });
      queue.setDlqConfig({ maxEntries: 1 });
      same([await answer('SetDlqConfig'), await answer('SetDlqConfig')], ['ok', 'ok']);
      const set = { ...defaults, autoRetry: true, autoRetryInterval: 2_000, maxAge: null, maxEntries: 1 };
      same(await queue.getDlqConfigAsync(), set);
      const jobs = await queue.addBulk(Array.from({ length: 2 }, () => ({ name: 'dead', data: {}, opts: { attempts: 1 } })));
      for (const job of jobs) await queue.moveJobToFailed(job.id, new Error('broken'), (await pull(queue)).token);
      const [entry] = await queue.getDlqAsync();
      same([entry?.job.id, entry?.retryCount, entry?.expiresAt, entry!.nextRetryAt! - entry!.enteredAt], [jobs[1]!.id, 0, null, 2_000]);
      await until('it is retried by itself', async () => (await state(queue, jobs[1]!.id)) === 'waiting');
    }),

  'workers and metrics of a queue': () =>
    withQueue(async (queue) => {
      await withWorker(queue, async () => 'done', async (worker) => {
        await worker.waitUntilReady();
        await until('the worker is registered', async () => (await queue.getWorkersCount()) === 1);
        const [one] = await queue.getWorkers();
        same([one?.queues, one?.concurrency, one?.pid], [[queue.name], 1, process.pid]);
        await queue.add('x', {});
        await until('it completes', async () => (await queue.getCompletedCount()) === 1);
      });
      same(await queue.getWorkersCount(), 0);
      const metrics = await queue.getMetrics('completed');
      same([metrics.meta.count, metrics.data.length], [1, metrics.count]);
      same((await queue.getMetrics('failed')).meta.count, 0);
      // No journal of events is kept, so there is nothing to trim.
      same(await queue.trimEvents(10), 0);
    }),

  'forward moves the jobs of a queue to another broker, here to another queue': () =>
    withQueue(async (queue) => {
      const target = fresh('target');
      const jobs = await queue.addBulk([1, 2].map((n) => ({ name: 'moved', data: { n } })));
      const forwarder = queue.forward({ to: connection, queue: target });
      await until('both are forwarded', async () => (await queue.getCompletedCount()) === 2);
      await forwarder.close();
      await withQueue(async (other) => {
        const there = await other.getWaitingAsync();
        same(ids(there), jobs.map((job) => `fwd:${queue.name}:${job.id}`).sort());
        same(there.map((job) => [job.name, job.data.n]).sort(), [['moved', 1], ['moved', 2]]);
      }, target);
    }),

  'disconnect sends what is waiting to be added, close ends the queue': () =>
    withQueue(async (other) => {
      await withQueue(async (queue) => {
        const added = queue.add('last', { n: 1 });
        await queue.disconnect();
        same(await state(other, (await added).id), 'waiting');
        queue.close();
        await sleep(1);
      }, other.name);
    }),
});
