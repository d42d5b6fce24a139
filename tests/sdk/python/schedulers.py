"""The Python client's schedulers: what it sends arrives, fires, and can be taken back."""
from bunqueue import CommandError

from client import checks, connect, fresh, pull, refused, same, until


@checks
def schedulers():
    """upsert_job_scheduler, add_cron and every: one schedule each, shown as it was asked for, until it is removed"""
    with connect() as queue:
        daily, often, tick = fresh("daily"), fresh("often"), fresh("tick")
        options = {"attempts": 4, "priority": 2, "backoff": 250, "remove_on_complete": True, "deduplication": {"id": "k", "ttl": 5_000}}
        template = {"name": "report", "data": {"n": 1}, "opts": options}
        queue.upsert_job_scheduler(daily, {"pattern": "0 3 * * *", "tz": "Europe/Berlin", "limit": 5}, template)
        shown = queue.get_job_scheduler(daily)
        wanted = {"name": daily, "jobName": "report", "queue": queue.name, "schedule": "0 3 * * *", "repeatEvery": None,
                  "executions": 0, "maxLimit": 5, "timezone": "Europe/Berlin", "priority": 2}
        same({name: shown.get(name) for name in wanted}, wanted)
        same(queue.get_job_scheduler(fresh("none")), None)
        queue.add_cron(often, "*/5 * * * *", {"a": 1})
        queue.every(tick, 100, {"b": 2}, limit=1, immediately=True)
        job, _ = until("it fires", lambda: pull(queue))
        same((job.name, job.data), (tick, {"name": tick, "b": 2}))
        mine = [one["name"] for one in queue.get_job_schedulers() if one["queue"] == queue.name]
        same(sorted(set(mine) - {tick}), sorted([daily, often]))
        same(queue.get_job_schedulers_count() >= 2, True)
        for name in (daily, often):
            queue.remove_job_scheduler(name)
        refused("Cron job not found", lambda: queue.remove_job_scheduler(daily))
        same(queue.get_job_scheduler(often), None)


@checks
def scheduled_jobs():
    """the options of a template are those of the jobs"""
    with connect() as queue:
        name = fresh("opts")
        options = {"attempts": 4, "backoff": 250, "timeout": 9_000, "remove_on_complete": True, "priority": 3}
        queue.upsert_job_scheduler(name, {"every": 60_000, "immediately": True}, {"name": "j", "data": {"n": 1}, "opts": options})
        job, _ = until("it fires", lambda: pull(queue))
        wanted = {"maxAttempts": 4, "backoff": 250, "timeout": 9_000, "removeOnComplete": True, "priority": 3, "name": "j"}
        same({field: job.raw.get(field) for field in wanted}, wanted)
        queue.remove_job_scheduler(name)


@checks
def bad_schedules():
    """a pattern, an interval or a zone that cannot fire is refused, and nothing is stored"""
    with connect() as queue:
        for repeat in ({"pattern": "61 * * * *"}, {"pattern": "0 0 30 2 *"}, {"pattern": "* * * * *", "tz": "Nowhere"}, {"every": -5}, {}):
            try:
                queue.upsert_job_scheduler("bad", repeat)
                raise AssertionError(f"{repeat} was accepted")
            except CommandError:
                same(queue.get_job_scheduler("bad"), None)


@checks
def repeats_by_the_calendar():
    """a job that repeats by a pattern makes its successor for the next moment of the pattern"""
    with connect() as queue:
        queue.add("x", {}, repeat={"pattern": "0 3 * * *", "tz": "Europe/Berlin"})
        job, token = pull(queue)
        queue.connection.call({"cmd": "ACK", "id": job.id, "token": token})
        later = queue.get_delayed()
        same(len(later), 1)
        same(later[0].raw["runAt"] % 3_600_000, 0)
