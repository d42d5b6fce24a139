// The npm client's schedulers: what it sends arrives, fires, and can be taken back.
import { checks, fresh, pull, same, spiedJob, until, withQueue } from './client';

Object.assign(checks, {
  'upsertJobScheduler and the lists: one schedule, shown as it was asked for, until it is removed': () =>
    withQueue(async (queue) => {
      const daily = fresh('daily');
      const template = { name: 'report', data: { n: 1 }, opts: { attempts: 4, priority: 2 } };
      const made = await queue.upsertJobScheduler(daily, { pattern: '0 3 * * *', timezone: 'Europe/Berlin', limit: 5 }, template);
      same([made?.id, made?.name, made?.pattern], [daily, 'report', '0 3 * * *']);
      const hours = new Date(made!.next).toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' });
      same(hours, '03:00:00');
      same((await queue.getJobScheduler(daily))?.next, made!.next);
      const again = await queue.upsertJobScheduler(daily, { every: 60_000 }, template);
      same([again?.every, again?.pattern], [60_000, undefined]);
      same((await queue.getJobSchedulers()).map((one) => one.id), [daily]);
      same(await queue.getJobSchedulersCount(), 1);
      same([await queue.removeJobScheduler(daily), await queue.removeJobScheduler(daily)], [true, false]);
      same([await queue.getJobScheduler(daily), await queue.getJobSchedulers()], [null, []]);
      same(await queue.upsertJobScheduler(daily, { pattern: '61 * * * *' }, template), null);
    }),

  'a scheduler fires: its jobs have the name, data and options of the template': () =>
    withQueue(async (queue) => {
      const tick = fresh('tick');
      const opts = { attempts: 4, priority: 2, backoff: 250, removeOnComplete: true };
      await queue.upsertJobScheduler(tick, { every: 100, immediately: true, limit: 1 }, { name: 'job', data: { n: 1 }, opts });
      await until('it fires', async () => (await queue.getJobCountsAsync()).prioritized === 1);
      const job = spiedJob(await queue.getJob((await pull(queue)).id));
      same([job.name, job.data, job.priority, job.opts.attempts, job.opts.backoff], ['job', { n: 1 }, 2, 4, 250]);
      await until('it has made its run and is gone', async () => (await queue.getJobSchedulersCount()) === 0);
    }),
});
