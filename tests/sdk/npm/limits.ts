// Limits of a queue and of its groups, set by the npm client's `Queue`, obeyed by its `Worker`, and measured over time.
import { ok } from 'node:assert';
import { RateLimitError } from 'bunqueue/client';
import type { Job, Queue, Worker } from 'bunqueue/client';
import { checks, pull, same, sleep, until, withQueue, withWorker } from './client';
import type { Data } from './client';

const jobs = (count: number, group?: string) =>
  Array.from({ length: count }, (_, n) => ({ name: group ?? 'x', data: { n }, opts: group ? { group: { id: group } } : {} }));

// Starts a second behind those that are allowed at once; the time of each start is noted by its worker.
const perSecond = (starts: number[], atOnce: number) => ((starts.length - atOnce) * 1_000) / (starts.at(-1)! - starts[0]!);

function within(what: string, got: number, wanted: number): void {
  console.log(`     ${what}: ${got.toFixed(2)} of ${wanted.toFixed(2)} a second`);
  ok(Math.abs(got - wanted) <= wanted * 0.05, `${what}: ${got} a second, wanted ${wanted}`);
}

// Runs what waits until `count` jobs have started, and gives the moments of their starts by name.
async function starts(queue: Queue<Data>, count: number, options: object): Promise<Record<string, number[]>> {
  const seen: Record<string, number[]> = {};
  let total = 0;
  const note = async (job: Job<Data>) => ((seen[job.name] ??= []).push(Date.now()), (total += 1));
  await withWorker(queue, note, () => until('all have started', () => total >= count, 20_000).then(() => {}), options);
  return seen;
}

Object.assign(checks, {
  'a rate is set, told and cleared, with and without waiting': () =>
    withQueue(async (queue, { answer }) => {
      same([await queue.getGlobalRateLimit(), await queue.getRateLimitTtl()], [null, -2]);
      queue.setGlobalRateLimit(5, 2_000);
      same(await answer('RateLimit'), 'ok');
      same(await queue.getGlobalRateLimit(), { max: 5, duration: 2_000 });
      queue.removeGlobalRateLimit();
      same(await answer('RateLimitClear'), 'ok');
      await queue.setGlobalRateLimitAsync(3);
      same([await queue.getGlobalRateLimit(), await queue.getRateLimitTtl(3)], [{ max: 3, duration: 1_000 }, 0]);
      await queue.removeGlobalRateLimitAsync();
      same(await queue.getGlobalRateLimit(), null);
      await queue.rateLimit(60_000);
      const left = await queue.getRateLimitTtl();
      ok(left > 59_000 && left <= 60_000, `${left} ms are left`);
      await queue.removeGlobalRateLimitAsync();
    }),

  'a concurrency is set, told, obeyed and cleared': () =>
    withQueue(async (queue, { answer }) => {
      await queue.addBulk(jobs(6));
      queue.setGlobalConcurrency(2);
      same(await answer('SetConcurrency'), 'ok');
      same([await queue.getGlobalConcurrency(), await queue.isMaxed()], [2, false]);
      let running = 0;
      let most = 0;
      const busy = async () => {
        most = Math.max(most, (running += 1));
        await sleep(60);
        running -= 1;
      };
      await withWorker(queue, busy, async () => {
        await until('it is full', () => queue.isMaxed());
        await until('all are done', async () => (await queue.getCompletedCount()) === 6);
      }, { concurrency: 6 });
      same(most, 2);
      queue.removeGlobalConcurrency();
      same(await answer('ClearConcurrency'), 'ok');
      same(await queue.getGlobalConcurrency(), null);
      await queue.setGlobalConcurrencyAsync(7);
      same(await queue.getGlobalConcurrency(), 7);
      await queue.removeGlobalConcurrencyAsync();
      same(await queue.getGlobalConcurrency(), null);
    }),

  'over time the rate of a queue is kept within 5 %, by many workers slots too': () =>
    withQueue(async (queue) => {
      await queue.addBulk(jobs(100));
      await queue.setGlobalRateLimitAsync(20, 1_000);
      const { x } = await starts(queue, 100, { concurrency: 8, batchSize: 8 });
      within('a queue of 20 a second', perSecond(x!, 20), 20);
    }),

  'over time a worker keeps its own limiter within 5 %': () =>
    withQueue(async (queue) => {
      await queue.addBulk(jobs(41));
      const { x } = await starts(queue, 41, { concurrency: 1, limiter: { max: 10, duration: 1_000 } });
      within('a worker with a limiter of 10 a second', perSecond(x!, 1), 10);
    }),

  'over time each group is served at the rate of the worker, within 5 %, and a stored rate counts instead': () =>
    withQueue(async (queue) => {
      await queue.addBulk(['slow', 'a', 'b'].flatMap((group) => jobs(group === 'slow' ? 9 : 41, group)));
      await queue.setGroupRateLimit('slow', 2, 1_000);
      const seen = await starts(queue, 91, { concurrency: 4, batchSize: 4, group: { limit: { max: 10, duration: 1_000 } } });
      within('group a, 10 a second', perSecond(seen.a!, 1), 10);
      within('group b, 10 a second', perSecond(seen.b!, 1), 10);
      within('group slow, 2 a second', perSecond(seen.slow!, 1), 2);
    }),

  'a worker runs no more of a group at once than it says, and other groups go on': () =>
    withQueue(async (queue) => {
      await queue.addBulk(['a', 'b', 'c'].flatMap((group) => jobs(4, group)));
      await queue.setGroupConcurrency('c', 2);
      const running: Record<string, number> = {};
      const most: Record<string, number> = {};
      let done = 0;
      const busy = async ({ name }: Job<Data>) => {
        most[name] = Math.max(most[name] ?? 0, (running[name] = (running[name] ?? 0) + 1));
        await sleep(80);
        running[name]! -= 1;
        done += 1;
      };
      const options = { concurrency: 9, group: { concurrency: 1 } };
      await withWorker(queue, busy, () => until('all are done', () => done === 12).then(() => {}), options);
      same(most, { a: 1, b: 1, c: 2 });
    }),

  'groups are counted, paused, resumed and limited': () =>
    withQueue(async (queue) => {
      await queue.addBulk([...jobs(2, 'a'), ...jobs(1, 'b')]);
      same([await queue.getGroupsJobsCount(), await queue.getGroupJobsCount('a'), await queue.getGroupActiveCount('a')], [3, 2, 0]);
      same([await queue.pauseGroup('a'), await queue.pauseGroup('a'), await queue.isGroupPaused('a')], [true, false, true]);
      const holder = await pull(queue);
      same((await queue.getJob(holder.id))?.name, 'b');
      same([await queue.resumeGroup('a'), await queue.isGroupPaused('a')], [true, false]);
      await pull(queue);
      same([await queue.getGroupActiveCount('a'), await queue.getGroupJobsCount('a')], [1, 1]);
      await queue.setGroupRateLimit('a', 5, 1_000);
      same([await queue.getGroupRateLimit('a'), await queue.getGroupRateLimitTtl('a')], [{ max: 5, duration: 1_000 }, -2]);
      same([await queue.removeGroupRateLimit('a'), await queue.removeGroupRateLimit('a')], [1, 0]);
      await queue.setGroupConcurrency('a', 4);
      same(await queue.getGroupConcurrency('a'), 4);
      same([await queue.removeGroupConcurrency('a'), await queue.getGroupConcurrency('a')], [1, null]);
    }),

  'a worker holds a group back and gets its job again after the time': () =>
    withQueue(async (queue) => {
      await queue.addBulk([...jobs(1, 'a'), ...jobs(1, 'b')]);
      const ran: [string, number][] = [];
      let subject: Worker<Data> | undefined;
      let heldAt = 0;
      const processor = async (job: Job<Data>) => {
        if (job.name === 'a' && !heldAt) {
          heldAt = Date.now();
          await subject!.rateLimitGroup(job, 700);
          throw new RateLimitError();
        }
        ran.push([job.name, Date.now()]);
      };
      await withWorker(queue, processor, async (worker) => {
        subject = worker;
        worker.run();
        await until('both have run', () => ran.length === 2);
      }, { autorun: false });
      same(ran.map(([name]) => name), ['b', 'a']);
      const waited = ran[1]![1] - heldAt;
      ok(waited >= 695 && waited < 1_500, `it came back after ${waited} ms`);
    }),

  'jobs of a group are listed and counted by the client itself': () =>
    withQueue(async (queue) => {
      await queue.addBulk([1, 2, 2].map((priority) => ({ name: 'x', data: {}, opts: { group: { id: 'g', priority } } })));
      await queue.add('x', {});
      same([(await queue.getGroupJobs('g')).length, await queue.getCountsPerPriorityForGroup('g')], [3, { 1: 1, 2: 2 }]);
    }),

});
