// The official npm client, as published, under Bun, against a running broker: ids and keys, and every method it offers.
//
//     bun test_npm.ts PORT [NAME]
//
// A failed check does not stop the others, and the last line is "N passed, N failed". With a name, only checks that have
// it in theirs run. The last check fails when a method of `Queue`, `Worker`, `QueueEvents` or `Job` was not used by any
// other, so that a new version of the client cannot bring one unnoticed.
import './keys';
import './job_options';
import './queue_methods';
import './job_methods';
import './worker_methods';
import './schedulers';
import './limits';
import './flows';
import { checks, holders, same, unused } from './client';

const wanted = process.argv[3] ?? '';
checks['every public method, getter and field was used'] = async () => {
  if (!wanted) same(unused(), []);
};

let failed = 0;
let count = 0;
for (const [name, check] of Object.entries(checks)) {
  if (!name.includes(wanted)) continue;
  const began = performance.now();
  count += 1;
  try {
    await check();
    console.log(`ok   npm: ${name} (${(performance.now() - began).toFixed(0)} ms)`);
  } catch (error) {
    failed += 1;
    const at = String((error as Error).stack).match(/\w+\.ts:\d+/g)?.join(' ');
    console.log(`FAIL npm: ${name}: ${String((error as Error).message).replaceAll('\n', ' ')} (${at})`);
  }
  await Promise.all(holders.splice(0).map((worker) => worker.close(true)));
}
console.log(`${count - failed} passed, ${failed} failed`);
process.exit(failed || !count ? 1 : 0);
