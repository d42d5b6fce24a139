"""What has to hold when a fleet is done, whatever trouble it was given."""
from collections import Counter
from types import SimpleNamespace

from fleet import ATTEMPTS, STALLS, WORKERS
from kit.checks import Checks, same
from leases import Lease, overlaps

checks = Checks("fleet")
# An end that the broker has accepted but not told yet when it is killed.
UNTOLD_MS = 1_000


@checks
def the_rule_itself(_fleet):
    """the rule of overlaps tells a fault from what is allowed"""
    def lease(at, ended=None, renewed=(), settled=(), deaths=()):
        one = Lease({"id": "j", "startedAt": at}, "t", 100, SimpleNamespace(ended=ended), deaths)
        one.renewals, one.settles = [list(mark) for mark in renewed], [list(mark) for mark in settled]
        return one

    second = lease(50)
    for first, fault in [
        (lease(0), True), (lease(0, ended=40.5), False), (lease(0, ended=60.0), True),
        (lease(0, ended=40.0, renewed=[(10.0, True)]), True), (lease(0, ended=40.0, renewed=[(10.0, None)]), False),
        (lease(-70, renewed=[(-55.0, True)]), False), (lease(-70, renewed=[(-45.0, True)]), True),
        (lease(0, settled=[(30.0, True)]), False), (lease(0, settled=[(30.0, None)]), False), (lease(0, settled=[(30.0, False)]), True),
        (lease(0, renewed=[(10.0, True)], deaths=[20.0]), False), (lease(0, renewed=[(10.0, True)], deaths=[-20.0, 60.0]), True),
    ]:
        same((vars(first), bool(overlaps([second, first]))), (vars(first), fault))


@checks
def enough_happened(fleet):
    """connections were cut, workers were killed and retired, leases were lost in every way, every language worked"""
    languages = Counter(line["by"].split("-")[0] for line in fleet.runs.values())
    assert set(languages) == set(WORKERS) and min(languages.values()) > len(fleet.ids) / 50, languages
    leases = [lease for some in fleet.ledger.jobs.values() for lease in some]
    assert min(fleet.cuts, fleet.kills, len(fleet.retired)) >= 3 and not fleet.deadlines, fleet.figures()
    # A broker that dies every few seconds leaves few leases the time to expire.
    assert fleet.ledger.deaths or any(lease.expired() for lease in leases), "no lease expired"
    assert any(lease.settled() is False and not lease.expired() for lease in leases), "no lease was released"
    assert all(any(lease.died() == death for lease in leases) for death in fleet.ledger.deaths), "the broker died idle"


@checks
def none_lost(fleet):
    """every job is completed or failed, and nothing else is left"""
    same(len(set(fleet.ids)), len(fleet.data))
    counts = Counter(fleet.states.values())
    same(set(counts), {"completed", "failed"})
    same({**fleet.counts(), **counts}, {**dict.fromkeys(fleet.counts(), 0), **counts})


@checks
def ended_once(fleet):
    """the end of each job is told exactly once, but for those that a broker which was killed had no time to tell"""
    def untold(one):
        leases = fleet.ledger.jobs[one]
        settles = [at for lease in leases for at, done in lease.settles if done is not False]
        late = any(0 <= death - at < UNTOLD_MS for death in fleet.ledger.deaths for at in settles)
        return late or any(lease.died() for lease in leases)

    same([(one, fleet.ends[one]) for one in fleet.ids if fleet.ends[one] != 1 and not (fleet.ends[one] == 0 and untold(one))][:5], [])


@checks
def right_end(fleet):
    """a job that always throws has failed, and any other only when its leases expired too often"""
    for one, data in zip(fleet.ids, fleet.data):
        failed = fleet.states[one] == "failed"
        if data.get("fatal") or data.get("fails", 0) >= ATTEMPTS:
            assert failed, (one, data)
        elif failed:
            # A restart counts the attempts that it interrupted, as an expiry does. It also counts those that nobody saw:
            # given out, but the broker was killed before its answer left.
            leases, timeline = fleet.ledger.jobs[one], fleet.timeline(one)
            unseen = sum(entry["state"] == "active" for entry in timeline) - len(leases)
            lost = unseen + sum(lease.cost_an_attempt() for lease in leases)
            assert unseen == 0 or (unseen > 0 and fleet.ledger.deaths), (one, unseen, timeline)
            assert lost >= STALLS or lost + data.get("fails", 0) >= ATTEMPTS, (one, data, lost, unseen, timeline)


@checks
def one_lease_at_a_time(fleet):
    """no job was leased to a second worker while the first lease can still have been valid"""
    found = [(a.job, a.connection.worker, b.connection.worker, b.at - a.earliest_end())
             for leases in fleet.ledger.jobs.values() for a, b in overlaps(leases)]
    same(found[:5], [])


@checks
def one_run_per_lease(fleet):
    """no delivery was run twice, and none without a lease"""
    same(fleet.doubled, [])
    leases = {(lease.job, lease.at) for some in fleet.ledger.jobs.values() for lease in some}
    same([key for key in fleet.runs if key not in leases][:5], [])
    same([key for key, line in fleet.runs.items() if line["t"] < int(key[1])][:5], [])


@checks
def results_of_accepted_runs(fleet):
    """a completed job has the result of the one run whose outcome the broker accepted"""
    for one, state in fleet.states.items():
        if state != "completed":
            continue
        result = fleet.results[one]
        accepted = [lease for lease in fleet.ledger.jobs[one] if lease.at == result["at"] and lease.settled() is not False]
        same((one, len(accepted)), (one, 1))
        assert (result["by"], one, result["at"]) in fleet.done, f"{one}: no run ended with {result}"
