// The methods whose commands this version does not have: each is called, and its command is refused by name.
//
// `tests/sdk/unsupported.json` lists them for all clients. A method that is answered must leave that list, and is then
// missing here, in the checks of what it does. Some methods hide the refusal; the answer itself is what is looked at.
import type { Job, Queue } from 'bunqueue/client';
import listed from '../unsupported.json';
import { checks, refused, same, spiedJob, withQueue } from './client';
import type { Data } from './client';

const queueCalls: Record<string, (queue: Queue<Data>) => unknown> = {
  getChildrenValues: (queue) => queue.getChildrenValues('j'),
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
      same(names.sort(), Object.keys(listed.npm).sort());
      const job = spiedJob(await queue.getJob((await queue.add('x', {})).id));
      for (const [name, command] of Object.entries(listed.npm)) {
        const [kind, method] = name.split('.') as [string, string];
        // Whether the client throws, returns a default or returns at once is its own affair.
        await Promise.resolve().then(() => (kind === 'Queue' ? queueCalls[method]!(queue) : jobCalls[method]!(job))).catch(() => {});
        same([name, await answer(command)], [name, `Unknown command: ${command}`]);
      }
      same(await queue.countAsync(), 1);
    }),

  'an option that belongs to a command this version does not have is refused by name': () =>
    withQueue(async (queue) => {
      const parent = await queue.add('parent', {});
      await refused('parentId is not supported by this version', () => queue.add('x', {}, { parent: { id: parent.id, queue: queue.name } }));
      await refused("Metrics type 'failed' is not supported by this version", () => queue.getMetrics('failed'));
      same(await queue.countAsync(), 1);
    }),
});

