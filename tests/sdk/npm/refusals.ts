// The methods whose commands this version does not have: each is called, and its command is refused by name.
//
// `tests/sdk/unsupported.json` lists them for all clients. A method that is answered must leave that list, and is then
// missing here, in the checks of what it does. Some methods hide the refusal; the answer itself is what is looked at.
import type { Job, Queue, Worker } from 'bunqueue/client';
import listed from '../unsupported.json';
import { checks, refused, same, spiedJob, until, withQueue, withWorker } from './client';
import type { Data } from './client';

const queueCalls: Record<string, (queue: Queue<Data>) => unknown> = {
  setGlobalConcurrency: (queue) => queue.setGlobalConcurrency(2),
  setGlobalConcurrencyAsync: (queue) => queue.setGlobalConcurrencyAsync(2),
  removeGlobalConcurrency: (queue) => queue.removeGlobalConcurrency(),
  removeGlobalConcurrencyAsync: (queue) => queue.removeGlobalConcurrencyAsync(),
  getGlobalConcurrency: (queue) => queue.getGlobalConcurrency(),
  setGlobalRateLimit: (queue) => queue.setGlobalRateLimit(5, 1_000),
  setGlobalRateLimitAsync: (queue) => queue.setGlobalRateLimitAsync(5, 1_000),
  removeGlobalRateLimit: (queue) => queue.removeGlobalRateLimit(),
  removeGlobalRateLimitAsync: (queue) => queue.removeGlobalRateLimitAsync(),
  getGlobalRateLimit: (queue) => queue.getGlobalRateLimit(),
  rateLimit: (queue) => queue.rateLimit(1_000),
  getRateLimitTtl: (queue) => queue.getRateLimitTtl(),
  isMaxed: (queue) => queue.isMaxed(),
  getChildrenValues: (queue) => queue.getChildrenValues('j'),
  getGroupJobsCount: (queue) => queue.getGroupJobsCount('g'),
  getGroupsJobsCount: (queue) => queue.getGroupsJobsCount(),
  getGroupActiveCount: (queue) => queue.getGroupActiveCount('g'),
  setGroupRateLimit: (queue) => queue.setGroupRateLimit('g', 5, 1_000),
  getGroupRateLimit: (queue) => queue.getGroupRateLimit('g'),
  removeGroupRateLimit: (queue) => queue.removeGroupRateLimit('g'),
  getGroupRateLimitTtl: (queue) => queue.getGroupRateLimitTtl('g'),
  setGroupConcurrency: (queue) => queue.setGroupConcurrency('g', 2),
  getGroupConcurrency: (queue) => queue.getGroupConcurrency('g'),
  removeGroupConcurrency: (queue) => queue.removeGroupConcurrency('g'),
  pauseGroup: (queue) => queue.pauseGroup('g'),
  resumeGroup: (queue) => queue.resumeGroup('g'),
  isGroupPaused: (queue) => queue.isGroupPaused('g'),
};

const jobCalls: Record<string, (job: Job<Data>) => unknown> = {
  getChildrenValues: (job) => job.getChildrenValues(),
  getFailedChildrenValues: (job) => job.getFailedChildrenValues(),
  getIgnoredChildrenFailures: (job) => job.getIgnoredChildrenFailures(),
  removeChildDependency: (job) => job.removeChildDependency(),
  removeUnprocessedChildren: (job) => job.removeUnprocessedChildren(),
};

Object.assign(checks, {
  'what this version does not have is refused by name, and changes nothing': () =>
    withQueue(async (queue, { answer }) => {
      const names = [...Object.keys(queueCalls).map((name) => `Queue.${name}`), ...Object.keys(jobCalls).map((name) => `Job.${name}`)];
      same([...names, 'Worker.rateLimitGroup'].sort(), Object.keys(listed.npm).sort());
      const job = spiedJob(await queue.getJob((await queue.add('x', {})).id));
      for (const [name, command] of Object.entries(listed.npm)) {
        const [kind, method] = name.split('.') as [string, string];
        if (kind === 'Worker') continue;
        // Whether the client throws, returns a default or returns at once is its own affair.
        await Promise.resolve().then(() => (kind === 'Queue' ? queueCalls[method]!(queue) : jobCalls[method]!(job))).catch(() => {});
        same([name, await answer(command)], [name, `Unknown command: ${command}`]);
      }
      same(await queue.countAsync(), 1);
    }),

  'a worker cannot slow down a group': () =>
    withQueue(async (queue) => {
      await queue.add('x', {}, { group: { id: 'g' } });
      const told: string[] = [];
      let subject: Worker<Data> | undefined;
      const processor = (job: Job<Data>) => subject!.rateLimitGroup(job, 1_000).catch((error: Error) => told.push(error.message));
      await withWorker(queue, processor, async (worker) => {
        subject = worker;
        worker.run();
        await until('it was tried', () => told.length === 1);
      }, { autorun: false });
      same(told, [`Unknown command: ${listed.npm['Worker.rateLimitGroup']}`]);
    }),

  'jobs of a group are listed and counted by the client itself': () =>
    withQueue(async (queue) => {
      await queue.addBulk([1, 2, 2].map((priority) => ({ name: 'x', data: {}, opts: { group: { id: 'g', priority } } })));
      await queue.add('x', {});
      same([(await queue.getGroupJobs('g')).length, await queue.getCountsPerPriorityForGroup('g')], [3, { 1: 1, 2: 2 }]);
    }),

  'an option that belongs to a command this version does not have is refused by name': () =>
    withQueue(async (queue) => {
      const parent = await queue.add('parent', {});
      await refused('parentId is not supported by this version', () => queue.add('x', {}, { parent: { id: parent.id, queue: queue.name } }));
      await refused("Metrics type 'failed' is not supported by this version", () => queue.getMetrics('failed'));
      same(await queue.countAsync(), 1);
    }),
});

