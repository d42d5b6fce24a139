#!/usr/bin/env python3
"""Copy as code: what the window's generators write is run against a broker, and the add that arrives is the one it was made from.

Each case of a table is added through the window's door. Its programs, made by the window's own code, run with the official
TypeScript, Python and Rust clients, and the raw command as a frame. Then every option and the data are compared as the broker
decoded them; what a program says it cannot express is left out of the comparison, and nothing else. The programs for PHP and
Go are not run: neither language is at hand.
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import ROOT, TARGET, Broker  # noqa: E402
from kit.checks import Checks, same  # noqa: E402

checks = Checks("codegen")
BUN = os.path.join(ROOT, "tests/sdk/npm/node_modules/.bin/bun")
FOLDER = os.path.join(TARGET, "codegen")
KEY = {"dedupId": "k"}
CASES = {
    "bare": {},
    "named": {"name": "send \"it\" \\ now", "dataText": "{}"},
    "numbers": {"dataText": '{"n": 9007199254740993, "low": -9223372036854775808, "high": 18446744073709551615, "f": 1.5, "e": 1e300}'},
    "texts": {"dataText": '{"quote": "\\"\\\\", "line": "a\\nb\\tc", "accent": "\\u00e9\\ud83d\\ude00", "": 1, "a-b": [], "class": {}, "__proto__x": null}'},
    "nested": {"dataText": '{"list": [1, [true, false, null], {"deep": {"er": [{"est": "yes"}]}}], "long": "' + "x" * 300 + '"}'},
    "bytes": {"dataText": '{"b": {"$bytes": "AQID/w=="}, "more": [{"$bytes": ""}]}'},
    "key": {**KEY},
    "key-ttl": {**KEY, "ttlMs": 60_000},
    "extend": {**KEY, "ttlMs": 60_000, "extend": True},
    "replace": {**KEY, "ttlMs": 60_000, "replace": True},
    "both": {"dedupId": "a 'quoted' \"key\"", "ttlMs": 5, "extend": True, "replace": True},
    "keep-last": {**KEY, "keepLastIfActive": True},
    "hash": {"dedupHash": True, "ttlMs": 1000, "dataText": '{"a": 1}'},
    "job-id": {"jobId": "order-%s"},
    "id-and-key": {"jobId": "both-%s", **KEY},
    "timing": {"delayMs": 5000, "priority": -5, "attempts": 7, "timeoutMs": 30_000},
    "backoff": {"backoff": {"kind": None, "delayMs": 250}},
    "backoff-fixed": {"backoff": {"kind": "fixed", "delayMs": 250}},
    "backoff-exponential": {"backoff": {"kind": "exponential", "delayMs": 0}},
    "flags": {"lifo": True, "durable": True, "removeOnComplete": True, "removeOnFail": True},
    "ttl-tags": {"jobTtlMs": 90_000, "tags": ["a", "b \"c\""], "stallTimeoutMs": 12_000},
    "relations": {"parentId": "parent-1", "childrenIds": ["child-1", "child-2"]},
    "group": {"groupId": "tenant-7", "groupMaxSize": 5, "priority": 3},
    "limits": {"stackTraceLimit": 4, "keepLogs": 20, "sizeLimit": 4096, "timestamp": 1_700_000_000_000},
    "debounce": {"debounceId": "d", "debounceTtl": 500},
    "failures": {"failParentOnFailure": True, "removeDependencyOnFailure": True, "continueParentOnFailure": True, "ignoreDependencyOnFailure": True},
    "repeat": {"repeat": {"everyMs": 60_000, "limit": 3, "count": 0}},
}
# What a program says it has no option for, by the members of the add that are then not compared.
SAID = {
    "ttl": ["jobTtlMs"], "debounce": ["debounceId", "debounceTtl"],
    "deduplication.hash": ["dedupHash", "ttlMs", "extend", "replace", "keepLastIfActive"],
    "deduplication.keepLastIfActive": ["keepLastIfActive"],
}


class Bench:
    def __init__(self, broker):
        self.broker, self.wire = broker, broker.connect()
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)

    def case(self, name, language):
        """The add of a case, in a queue of its own and with ids of its own, so that no run meets another."""
        add = {"name": "job", "dataText": '{"n": 1}', **CASES[name], "queue": f"{name}.{language}"}
        if "jobId" in add:
            add["jobId"] %= language
        return add

    def programs(self, language):
        cases = [{"add": self.case(name, language), "language": language, "port": self.broker.port} for name in CASES]
        done = subprocess.run([BUN, os.path.join(ROOT, "tests/codegen/generate.ts")], input=json.dumps(cases), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return dict(zip(CASES, json.loads(done.stdout)))

    def arrived(self, queue):
        """The newest add of a queue, with its data."""
        rows = self.broker.rpc({"type": "adds", "filter": f"queue:{queue}", "limit": 1})["rows"]
        assert rows, f"nothing arrived in {queue}"
        add = self.broker.rpc({"type": "draft", "seq": rows[0]["seq"]})["add"]
        data = self.broker.rpc({"type": "addData", "seq": rows[0]["seq"]})["text"]
        return add, json.loads(data) if data else None

    def compare(self, language, programs):
        for name, program in programs.items():
            sent = self.broker.rpc({"type": "sendAdd", **self.case(name, "window")})
            assert sent["ok"], f"{name}: {sent['message']}"
            wanted, data = self.arrived(f"{name}.window")
            got, got_data = self.arrived(f"{name}.{language}")
            left_out = {"origin", "queue", "dataText"}
            for option in re.findall(r"This client has no option for ([\w.]+):", program):
                left_out.update(SAID.get(option, [option]))
            if "jobId" in CASES[name]:
                same(got["jobId"], self.case(name, language)["jobId"])
                left_out.add("jobId")
            different = {key: (wanted[key], got[key]) for key in wanted if key not in left_out and wanted[key] != got[key]}
            assert not different, f"{name} by {language}: {different}\n{program}"
            rounded = set(re.findall(r"numbers: (-?\d+) is rounded", program))
            same((name, got_data), (name, with_rounded(data, rounded)))
        print(f"     {len(programs)} programs in {language}", flush=True)


@checks
def typescript(bench):
    """the programs for TypeScript add what they were made from"""
    programs = bench.programs("typescript")
    folder = os.path.join(FOLDER, "typescript")
    os.makedirs(folder)
    os.symlink(os.path.join(ROOT, "tests/sdk/npm/node_modules"), os.path.join(folder, "node_modules"))
    for name, program in programs.items():
        write(os.path.join(folder, f"{name}.ts"), program)
    write(os.path.join(folder, "all.ts"), "".join(f"await import('./{name}.ts');\n" for name in programs))
    ran([BUN, os.path.join(folder, "all.ts")])
    bench.compare("typescript", programs)


@checks
def python(bench):
    """the programs for Python add what they were made from"""
    programs = bench.programs("python")
    folder = os.path.join(FOLDER, "python")
    os.makedirs(folder)
    for name, program in programs.items():
        write(os.path.join(folder, f"{name}.py"), program)
    ran([sys.executable, "-c", "import runpy, sys\nfor path in sys.argv[1:]: runpy.run_path(path)", *(os.path.join(folder, f"{name}.py") for name in programs)])
    bench.compare("python", programs)


@checks
def rust(bench):
    """the programs for Rust compile, and add what they were made from"""
    programs = bench.programs("rust")
    folder = os.path.join(FOLDER, "rust")
    os.makedirs(os.path.join(folder, "src"))
    modules = {name: "case_" + name.replace("-", "_") for name in programs}
    for name, program in programs.items():
        # All in one program, so that the client is linked once: the only change is that its start can be called.
        assert program.count("\nfn main()") == 1
        write(os.path.join(folder, "src", f"{modules[name]}.rs"), program.replace("\nfn main()", "\npub fn main()"))
    calls = "".join(f"    {module}::main().expect(\"{module}\");\n" for module in modules.values())
    write(os.path.join(folder, "src/main.rs"), "".join(f"mod {module};\n" for module in modules.values()) + f"fn main() {{\n{calls}}}\n")
    write(os.path.join(folder, "Cargo.toml"), '[workspace]\n[package]\nname = "onceover-codegen"\nversion = "0.1.0"\nedition = "2024"\n'
          '[dependencies]\nbunqueue-client = "=0.1.1"\n[profile.dev.package."*"]\ndebug = false\n')
    shutil.copy(os.path.join(ROOT, "tests/sdk/rust/Cargo.lock"), os.path.join(folder, "Cargo.lock"))
    ran(["cargo", "run", "--quiet", "--manifest-path", os.path.join(folder, "Cargo.toml")], env={**os.environ, "CARGO_TARGET_DIR": TARGET})
    bench.compare("rust", programs)


@checks
def raw(bench):
    """the raw commands add what they were made from"""
    programs = bench.programs("raw")
    for program in programs.values():
        answer = bench.wire.read(bench.wire.send(json.loads(program, object_pairs_hook=untagged)))
        assert answer["ok"], answer
    bench.compare("raw", programs)


def with_rounded(value, rounded):
    if isinstance(value, list):
        return [with_rounded(item, rounded) for item in value]
    if isinstance(value, dict):
        return {key: with_rounded(member, rounded) for key, member in value.items()}
    return float(value) if isinstance(value, int) and str(value) in rounded else value


def untagged(pairs):
    members = dict(pairs)
    return base64.b64decode(members["$bytes"]) if list(members) == ["$bytes"] else members


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def ran(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


if __name__ == "__main__":
    with Broker() as broker:
        sys.exit(checks.run(Bench(broker)))
