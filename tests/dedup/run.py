#!/usr/bin/env python3
"""Replays the dedup vectors against a broker of its own and compares the outcome with `not-yet.json`.

`not-yet.json` names, for each refusal that the broker still gives, the command that provokes it and the scenarios that need
it. The run fails when any other scenario fails, when one of these passes (its line then has to go), when the broker does
not give that refusal any more, or when the list names a scenario that does not exist. Options after `--` go to `replay.py`.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from kit.broker import Broker, program  # noqa: E402


def replay(cases, more):
    """Runs one file of scenarios and returns the outcome of each."""
    start = program() + " --port {port} --ui-port {http} --data {data}"
    with tempfile.NamedTemporaryFile("r", suffix=".json") as outcome:
        command = [sys.executable, os.path.join(HERE, "replay.py"), "--start", start, "--json", outcome.name]
        # Its own verdict does not know the list, so only a run that ended early counts as a failure here.
        code = subprocess.call([*command, *more, os.path.join(HERE, cases)])
        text = outcome.read()
    if not text:
        sys.exit(f"{cases}: the runner ended with {code} and no outcome")
    return json.loads(text)


def refusals(not_yet):
    """What the broker answers where the list says that it refuses, if it is something else."""
    with Broker() as broker, broker.connect() as wire:
        for entry in not_yet:
            answer = wire.call(**entry["send"])
            if answer.get("error") != entry["error"]:
                yield f"{entry['send']['cmd']} is answered with {answer}, but not-yet.json says: {entry['error']}"


def main():
    more = sys.argv[2:] if sys.argv[1:2] == ["--"] else []
    with open(os.path.join(HERE, "not-yet.json"), encoding="utf-8") as file:
        not_yet = json.load(file)
    listed = {name for entry in not_yet for name in entry["scenarios"]}
    wrong, outcome = list(refusals(not_yet)), {}
    for cases in ("cases.json", "field-cases.json"):
        outcome |= replay(cases, more)
    for name, result in outcome.items():
        if result == "skip":
            wrong.append(f"{name}: was skipped")
        elif result == "ok" and name in listed:
            wrong.append(f"{name}: passes, so its name in not-yet.json has to go")
        elif result != "ok" and name not in listed:
            wrong.append(f"{name}: {result}")
    if not more:
        wrong += [f"{name}: is in not-yet.json, but there is no such scenario" for name in listed if name not in outcome]
    for line in wrong:
        print("WRONG", line)
    passed = sum(result == "ok" for result in outcome.values())
    print(f"{sum(name in listed for name in outcome)} scenarios need what is not there yet, as listed")
    print(f"{passed} passed, {len(wrong)} failed")
    return 1 if wrong or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
