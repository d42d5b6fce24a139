"""Rate and concurrency of a queue, set by the Python client and measured with its worker."""
import time

from client import checks, connect, same, until, work


def limits(queue):
    return queue.connection.call({"cmd": "GetQueueLimits", "queue": queue.name})["data"]["limits"]


@checks
def rate():
    """set_global_rate_limit: over time the rate is kept within 5 %; remove_global_rate_limit: no limit any more"""
    with connect() as queue:
        queue.set_global_rate_limit(20, 1_000)
        same(limits(queue)["rateLimit"], {"max": 20, "duration": 1_000})
        queue.add_bulk([{"name": "x", "data": {"n": n}} for n in range(100)])
        starts = []
        with work(queue, lambda _: starts.append(time.monotonic()), concurrency=8):
            until("all have run", lambda: len(starts) == 100)
        # The first 20 are allowed at once.
        measured = 80 / (starts[-1] - starts[0])
        print(f"     {measured:.2f} of 20 a second")
        same(19 <= measured <= 21, True)
        queue.remove_global_rate_limit()
        same((limits(queue)["rateLimit"], limits(queue)["rateLimitTtl"]), (None, -2))


@checks
def concurrency():
    """set_global_concurrency: no more are active at once, whatever the worker could do; remove_global_concurrency"""
    with connect() as queue:
        queue.set_global_concurrency(2)
        same((limits(queue)["concurrencyLimit"], limits(queue)["maxed"]), (2, False))
        queue.add_bulk([{"name": "x", "data": {"n": n}} for n in range(6)])
        counts, done = [], []

        def busy(_):
            counts.append(queue.get_active_count())
            time.sleep(0.05)
            done.append(1)

        with work(queue, busy, concurrency=6):
            until("all have run", lambda: len(done) == 6)
        same(max(counts), 2)
        queue.remove_global_concurrency()
        same(limits(queue)["concurrencyLimit"], None)
