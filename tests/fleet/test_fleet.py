#!/usr/bin/env python3
"""Eight workers in three languages drain a queue while connections are cut, workers are killed or retire, and the broker is killed if asked.

    test_fleet.py [--seed N] [--jobs N] [--broker-kills N]

At the end every job has ended exactly once, none is lost, none was leased twice at a time (what that means is told in
`leases.py`), and each result is that of the run whose outcome the broker accepted.
"""
import argparse
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from fleet import Fleet
from holds import checks
from kit.broker import Broker


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--broker-kills", type=int, default=0)
    parsed = parser.parse_args()
    # What is left of the command line would name a check.
    del sys.argv[1:]
    return parsed


def main():
    asked = options()
    print(f"seed {asked.seed}", flush=True)
    with Broker(args=["--no-ui"]) as broker, tempfile.TemporaryDirectory(prefix="onceover-fleet-") as folder:
        fleet = Fleet(asked.seed, asked.jobs, asked.broker_kills, folder, broker)
        try:
            fleet.run()
            fleet.gather()
        finally:
            for worker in [*fleet.running.values(), *fleet.retired]:
                worker.kill()
        print(fleet.figures(), flush=True)
        return broker.judge(checks.run(fleet))


if __name__ == "__main__":
    sys.exit(main())
