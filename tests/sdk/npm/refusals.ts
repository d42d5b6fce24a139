// What this version does not have of the npm client's options is refused by name. Every command of its methods is answered.
import { checks, refused, same, withQueue } from './client';

Object.assign(checks, {
  'an option that belongs to a command this version does not have is refused by name': () =>
    withQueue(async (queue) => {
      await refused("Metrics type 'failed' is not supported by this version", () => queue.getMetrics('failed'));
      same(await queue.countAsync(), 0);
    }),
});
