// Trees of jobs with the npm client: its FlowProducer commits them in one command, its jobs read and change their links.
import { ok } from 'node:assert';
import { FlowProducer, UnrecoverableError } from 'bunqueue/client';
import type { Job, Queue } from 'bunqueue/client';
import { checks, connection, fresh, refused, same, spiedJob, state, until, withQueue, withWorker } from './client';
import type { Data } from './client';

async function withFlow(check: (flow: FlowProducer) => Promise<void>): Promise<void> {
  const flow = new FlowProducer({ connection: { ...connection, poolSize: 2 } });
  try {
    await flow.waitUntilReady();
    await check(flow);
  } finally {
    await flow.close();
  }
}

const leaf = (name: string, queue: Queue<Data>, opts: object = {}) => ({ name, queueName: queue.name, data: { of: name }, opts });

async function job(queue: Queue<Data>, id: string): Promise<Job<Data>> {
  return spiedJob(await queue.getJob(id));
}

Object.assign(checks, {
  'a flow over two queues: committed at once, read back, run leaf first, results reach the parents': () =>
    withQueue((parents) =>
      withQueue((children) =>
        withFlow(async (flow) => {
          const middle = { ...leaf('middle', children), children: [leaf('grandchild', children)] };
          const other = leaf('other', children, { removeOnComplete: true, jobId: fresh('other') });
          const made = await flow.add({ ...leaf('root', parents), children: [middle, other] });
          const root = made.job.id;
          const [mid, rest] = made.children!.map((node) => node.job.id) as [string, string];
          same([rest, await state(parents, root)], [other.opts['jobId' as never], 'waiting-children']);
          const read = (await flow.getFlow({ id: root, queueName: parents.name }))!;
          same(read.children!.map((node) => node.job.id), [mid, rest]);
          same(read.children![0]!.children![0]!.job.name, 'grandchild');
          same(await flow.getFlow({ id: 'nobody', queueName: parents.name }), null);
          const child = await job(children, mid);
          same([child.parent?.id, child.data['of']], [root, 'middle']);
          const ran: string[] = [];
          const seen: Record<string, unknown> = {};
          const run = async (one: Job<Data>) => {
            ran.push(one.name);
            seen[one.name] = await one.getChildrenValues();
            return { done: one.name };
          };
          await withWorker(children, run, () =>
            withWorker(parents, run, async () => {
              await until('the root is done', async () => (await state(parents, root)) === 'completed');
            }),
          );
          same(ran.at(-1), 'root');
          ok(ran.indexOf('grandchild') < ran.indexOf('middle'));
          const values = { [`${children.name}:${mid}`]: { done: 'middle' }, [`${children.name}:${rest}`]: { done: 'other' } };
          same(seen['root'], values);
          same(await parents.getChildrenValues(root), { [`${children.name}:${mid}`]: { done: 'middle' } });
          same(await flow.getParentResult(mid), { done: 'middle' });
        }),
      ),
    ),

  'chains, fan-in and trees of steps run in their order': () =>
    withQueue((queue) =>
      withFlow(async (flow) => {
        const chain = (await flow.addChain(['one', 'two', 'three'].map((name) => leaf(name, queue)))).jobIds;
        const fan = await flow.addBulkThen([1, 2, 3].map((n) => leaf(`part ${n}`, queue)), leaf('sum', queue));
        const tree = (await flow.addTree({ ...leaf('first', queue), children: [leaf('second', queue), leaf('third', queue)] })).jobIds;
        const bulk = await flow.addBulk([1, 2].map((n) => ({ ...leaf(`root ${n}`, queue), children: [leaf(`leaf ${n}`, queue)] })));
        const last = [chain[2]!, fan.finalId, tree[1]!, tree[2]!, ...bulk.map((node) => node.job.id)];
        same(new Set(await Promise.all(last.map((id) => state(queue, id)))), new Set(['waiting-children']));
        const ran: string[] = [];
        await withWorker(queue, async (one) => ran.push(one.id), async () => {
          for (const id of last) await until('it is done', async () => (await state(queue, id)) === 'completed');
        });
        same(ran.filter((id) => chain.includes(id)), chain);
        const before = (first: string, second: string) => ok(ran.indexOf(first) < ran.indexOf(second));
        fan.parallelIds.forEach((id) => before(id, fan.finalId));
        tree.slice(1).forEach((id) => before(tree[0]!, id));
        bulk.forEach((node) => before(node.children![0]!.job.id, node.job.id));
        same([...(await flow.getParentResults(fan.parallelIds)).keys()], fan.parallelIds);
      }),
    ),

  'a flow with an id that is taken is refused as a whole': () =>
    withQueue((queue) =>
      withFlow(async (flow) => {
        const taken = (await queue.add('x', {}, { jobId: fresh('taken') })).id;
        const tree = { ...leaf('root', queue), children: [leaf('a', queue), leaf('b', queue, { jobId: taken })] };
        await refused(`Flow job ${taken} already exists`, () => flow.add(tree));
        same(await queue.countAsync(), 1);
      }),
    ),

  'failures of children: each policy, and what the parent can read': async () => {
    for (const [policy, after, failed, ignored, end] of [
      [undefined, 'waiting-children', false, false, 'waiting-children'],
      ['failParentOnFailure', 'failed', false, false, 'failed'],
      ['continueParentOnFailure', 'waiting', true, false, 'waiting'],
      ['ignoreDependencyOnFailure', 'waiting-children', false, true, 'waiting'],
      ['removeDependencyOnFailure', 'waiting-children', false, false, 'waiting'],
    ] as const) {
      await withQueue((parents) =>
        withQueue((bads) =>
          withQueue((goods) =>
            withFlow(async (flow) => {
              const bad = leaf('bad', bads, policy ? { [policy]: true } : {});
              const made = await flow.add({ ...leaf('root', parents), children: [bad, leaf('good', goods)] });
              const root = made.job.id;
              const [badId, goodId] = made.children!.map((node) => node.job.id) as [string, string];
              await withWorker(bads, () => Promise.reject(new UnrecoverableError('never')), async () => {
                await until('the child has failed', async () => (await state(bads, badId)) === 'failed');
              });
              await until(`${policy}: the parent has heard`, async () => (await state(parents, root)) === after);
              const parent = await job(parents, root);
              const error = { [`${bads.name}:${badId}`]: 'never' };
              same([policy, await parent.getFailedChildrenValues()], [policy, failed ? error : {}]);
              same([policy, await parent.getIgnoredChildrenFailures()], [policy, ignored ? error : {}]);
              await withWorker(goods, async () => 1, async () => {
                await until('the other is done', async () => (await state(goods, goodId)) === 'completed');
              });
              same([policy, await state(parents, root)], [policy, end]);
              same([policy, await parent.getChildrenValues()], [policy, { [`${goods.name}:${goodId}`]: 1 }]);
            }),
          ),
        ),
      );
    }
  },

  'links change: a child is detached, what has not begun is removed, a new one joins': () =>
    withQueue((parents) =>
      withQueue((children) =>
        withFlow(async (flow) => {
          const made = await flow.add({ ...leaf('root', parents), children: ['a', 'b', 'c'].map((name) => leaf(name, children)) });
          const root = made.job.id;
          const ids = made.children!.map((node) => node.job.id) as [string, string, string];
          const parent = await job(parents, root);
          // The client names children by the queue of the job it was asked about.
          const names = ids.map((id) => `${parents.name}:${id}`);
          same(await parent.getDependencies(), { processed: {}, unprocessed: names });
          same(await parents.getJobDependenciesCount(root), { processed: 0, unprocessed: 3 });
          same(await (await job(children, ids[0])).removeChildDependency(), true);
          same((await job(children, ids[0])).parent, undefined);
          await parent.removeUnprocessedChildren();
          same(await Promise.all(ids.map((id) => state(children, id))), ['waiting', 'unknown', 'unknown']);
          same(await state(parents, root), 'waiting');
          const late = await children.add('late', {}, { parent: { id: root, queue: parents.name } });
          same(await state(parents, root), 'waiting-children');
          same((await flow.getFlow({ id: root, queueName: parents.name }))!.children!.map((node) => node.job.id), [late.id]);
          await refused('Parent job not found: nobody', () => children.add('x', {}, { parent: { id: 'nobody', queue: parents.name } }));
          await withWorker(children, async (one) => one.name, async () => {
            await until('the parent is freed', async () => (await state(parents, root)) === 'waiting');
          });
          same(await parent.getChildrenValues(), { [`${children.name}:${late.id}`]: 'late' });
        }),
      ),
    ),
});
