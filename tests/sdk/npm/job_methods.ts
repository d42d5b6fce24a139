// The npm client's `Job` and the methods of `Queue` that change one job, each with what it has to answer or change.
import { ok } from 'node:assert';
import { QueueEvents, UnrecoverableError } from 'bunqueue/client';
import type { Job } from 'bunqueue/client';
import { checks, connection, finished, fresh, pull, refused, same, spiedJob, state, until, withQueue, withWorker } from './client';
import type { Data } from './client';

const MINUTE = 60_000;
const inAMinute = () => Date.now() + MINUTE;

Object.assign(checks, {
  'a job is changed by its id: data, priority, delay, progress, logs, lock': () =>
    withQueue(async (queue, { answer }) => {
      const { id } = await queue.add('x', { n: 1 });
      await queue.updateJobData(id, { n: 2 });
      await queue.changeJobPriority(id, { priority: 9, lifo: true });
      const job = await queue.getJob(id);
      same([job?.data, job?.priority, job?.opts.lifo], [{ n: 2 }, 9, true]);
      await queue.changeJobDelay(id, MINUTE);
      same(await state(queue, id), 'delayed');
      same(await queue.moveJobToWait(id), true);
      same(await state(queue, id), 'prioritized');
      const { token } = await pull(queue);
      await queue.updateJobProgress(id, 40);
      same([await answer('Progress'), (await queue.getJob(id))?.progress], ['ok', 40]);
      same([await queue.extendJobLock(id, token, 45_000), await queue.extendJobLock(id, 'wrong', 45_000)], [45_000, 0]);
      for (let n = 0; n < 4; n += 1) same(await queue.addJobLog(id, `line ${n}`), 1);
      same(await queue.getJobLogs(id, 1, 2), { logs: ['[info] line 1', '[info] line 2'], count: 2 });
      await queue.clearJobLogs(id, 1);
      same((await queue.getJobLogs(id)).logs, ['[info] line 3']);
      same(await queue.addJobLog('nobody', 'x'), 0);
    }),

  'a job is moved by its id, with the token of its lock and not with another': () =>
    withQueue(async (queue) => {
      const { id } = await queue.add('x', {});
      let { token } = await pull(queue);
      await refused('token', () => queue.moveJobToWait(id, 'wrong'));
      same([await queue.moveJobToWait(id, token), await state(queue, id)], [true, 'waiting']);
      ({ token } = await pull(queue));
      await refused('token', () => queue.moveJobToDelayed(id, inAMinute(), 'wrong'));
      await queue.moveJobToDelayed(id, inAMinute(), token);
      same(await state(queue, id), 'delayed');
      await queue.promoteJob(id);
      ({ token } = await pull(queue));
      same([await queue.moveJobToWaitingChildren(id, token), await state(queue, id)], [true, 'waiting-children']);
      const other = await queue.add('y', {});
      ({ token } = await pull(queue));
      await refused('token', () => queue.moveJobToFailed(other.id, new Error('x'), 'wrong'));
      await queue.moveJobToFailed(other.id, new UnrecoverableError('never'), token);
      same([await state(queue, other.id), (await queue.getJob(other.id))?.failedReason], ['failed', 'never']);
      await refused('not found', () => queue.moveJobToCompleted('nobody', 1, token));
    }),

  'waitJobUntilFinished hears of the end, and knows one that was before': () =>
    withQueue(async (queue) => {
      const events = new QueueEvents(queue.name, { connection });
      await events.waitUntilReady();
      try {
        const good = await queue.add('good', {});
        const bad = await queue.add('bad', {}, { attempts: 1 });
        const told = [queue.waitJobUntilFinished(good.id, events, 5_000), queue.waitJobUntilFinished(bad.id, events, 5_000)];
        const ends = Promise.allSettled(told);
        await withWorker(queue, async (job) => {
          if (job.name === 'bad') throw new Error('as asked');
          return { fine: true };
        }, async () => {
          const [first, second] = await ends;
          same(first, { status: 'fulfilled', value: { fine: true } });
          same(second?.status === 'rejected' && second.reason.message, 'as asked');
        });
        same(await queue.waitJobUntilFinished(good.id, events, 5_000), { fine: true });
        await refused('Job already failed', () => queue.waitJobUntilFinished(bad.id, events, 5_000));
      } finally {
        events.close();
      }
    }),

  'dependencies of a job: what it waits for and what it got': () =>
    withQueue(async (queue) => {
      const first = await queue.add('first', {});
      const parent = await queue.add('parent', {}, { dependsOn: [first.id] } as object);
      same(await state(queue, parent.id), 'waiting-children');
      // A job that only depends on others has no children: the lists are there and empty.
      same(await queue.getJobDependencies(parent.id), { processed: {}, unprocessed: [], nextProcessedCursor: 0, nextUnprocessedCursor: 0 });
      same(await queue.getJobDependenciesCount(parent.id), { processed: 0, unprocessed: 0 });
      same(await queue.getDependencies(parent.id), { processed: {}, unprocessed: [] });
      const job = spiedJob(await queue.getJob(parent.id));
      same([await job.getDependencies(), await job.getDependenciesCount()], [{ processed: {}, unprocessed: [] }, { processed: 0, unprocessed: 0 }]);
      same([await job.isWaitingChildren(), job.parent, job.parentKey], [true, undefined, undefined]);
      await withWorker(queue, async (one) => one.name, () => finished(queue, parent.id).then(() => {}));
    }),

  'the fields of a job, before and after it ran': () =>
    withQueue(async (queue) => {
      const began = Date.now();
      const jobId = fresh('fields');
      const added = spiedJob(await queue.add('fields', { n: 1 }, { jobId, attempts: 4, delay: 5 }));
      same([added.id, added.queueName, added.progress, added.attemptsMade, added.attemptsStarted], [jobId, queue.name, 0, 0, 0]);
      let seen: unknown[] = [];
      await withWorker(queue, async (job) => {
        seen = [job.id, job.name, job.data, job.queueName, typeof job.token, job.processedBy ?? 'nobody', job.repeatJobKey, job.stalledCounter];
        if (job.attemptsMade === 0) throw new Error('first try');
        return { n: 2 };
      }, () => until('it completes', async () => (await state(queue, jobId)) === 'completed', 15_000).then(() => {}));
      same([seen[0], seen[1], seen[2], seen[3], seen[4], seen[6], seen[7]], [jobId, 'fields', { n: 1 }, queue.name, 'string', undefined, 0]);
      const job = spiedJob(await queue.getJob(jobId));
      same([job.returnvalue, job.attemptsMade, job.progress, job.priority, job.opts.attempts], [{ n: 2 }, 1, 100, 0, 4]);
      same([job.failedReason, job.stacktrace?.[0]], ['first try', 'Error: first try']);
      ok(job.timestamp >= began && job.processedOn! >= job.timestamp && job.finishedOn! >= job.processedOn!, 'times out of order');
      const json = job.toJSON();
      same([json.id, json.returnvalue, json.finishedOn, json.queueQualifiedName], [jobId, { n: 2 }, job.finishedOn, `bull:${queue.name}`]);
      const raw = job.asJSON();
      same([raw.data, raw.returnvalue, raw.attemptsMade], ['{"n":1}', '{"n":2}', '1']);
    }),

  'a job changes itself while it waits': () =>
    withQueue(async (queue, { answer }) => {
      const add = async (options = {}) => spiedJob(await queue.getJob((await queue.add('x', { n: 1 }, options)).id));
      const job = await add({ deduplication: { id: 'own' } });
      same([await job.isWaiting(), await job.getState(), job.deduplicationId], [true, 'waiting', 'own']);
      await job.updateData({ n: 2 });
      await job.changePriority({ priority: 5 });
      await job.changeDelay(MINUTE);
      const read = await queue.getJob(job.id);
      same([read?.data, read?.priority, await job.isDelayed()], [{ n: 2 }, 5, true]);
      await job.promote();
      same(await job.getState(), 'prioritized');
      same([await job.removeDeduplicationKey(), await queue.getDeduplicationJobId('own')], [true, null]);
      await job.log('by itself');
      same((await queue.getJobLogs(job.id)).logs, ['[info] by itself']);
      await job.clearLogs();
      same((await queue.getJobLogs(job.id)).logs, []);
      await job.remove();
      same(await job.getState(), 'unknown');
      const given = await add();
      given.discard();
      same([await answer('Discard'), await given.isFailed()], ['ok', true]);
      await given.retry();
      same(await given.isWaiting(), true);
    }),

  'a job moves itself while it runs, with the token of its lock': () =>
    withQueue(async (queue, { answer }) => {
      const job = spiedJob(await queue.getJob((await queue.add('x', {})).id));
      let { token } = await pull(queue);
      same([await job.isActive(), await job.extendLock(token, 45_000), await job.extendLock('wrong', 45_000)], [true, 45_000, 0]);
      await job.updateProgress(30, 'a third');
      same(await answer('Progress'), 'ok');
      same([await job.moveToWait(token), await job.getState()], [true, 'waiting']);
      ({ token } = await pull(queue));
      await job.moveToDelayed(inAMinute(), token);
      same(await job.getState(), 'delayed');
      await job.promote();
      ({ token } = await pull(queue));
      await job.moveToFailed(new UnrecoverableError('never'), token);
      same(await job.isFailed(), true);
      await job.retry();
      ({ token } = await pull(queue));
      const waits = job.waitUntilFinished(null, 5_000);
      same(await job.moveToCompleted({ n: 1 }, token), null);
      same([await waits, await job.isCompleted()], [{ n: 1 }, true]);
      const other = spiedJob(await queue.getJob((await queue.add('y', {})).id));
      ({ token } = await pull(queue));
      same([await other.moveToWaitingChildren(token), await other.isWaitingChildren()], [true, true]);
      await refused('timed out', () => other.waitUntilFinished(null, 50));
    }),

  'a processor reports progress and logs, and fails for good or not': () =>
    withQueue(async (queue) => {
      const good = await queue.add('good', {});
      const bad = await queue.add('bad', {}, { attempts: 1 });
      const fatal = await queue.add('fatal', {}, { attempts: 5 });
      const processor = async (job: Job<Data>) => {
        await job.updateProgress(50, 'halfway');
        await job.log('halfway');
        if (job.name === 'bad') throw new Error('no luck');
        if (job.name === 'fatal') throw new UnrecoverableError('bad payload');
        return await job.getState();
      };
      await withWorker(queue, processor, () => until('all end', async () => (await queue.getFailedCount()) === 2).then(() => {}));
      same((await queue.getJob(good.id))?.returnvalue, 'active');
      same([(await queue.getJob(bad.id))?.failedReason, (await queue.getJob(fatal.id))?.failedReason], ['no luck', 'bad payload']);
      same([(await queue.getJob(fatal.id))?.attemptsMade, (await queue.getJobLogs(good.id)).logs], [1, ['[info] halfway']]);
    }),
});
