#!/usr/bin/env python3
"""Checks what no compiler checks: who may depend on whom, and the shape of the files.

Reads only tracked and new files of the repository (what git lists), so build products do not matter.
Limits and directions are those of ARCHITECTURE.md and of the rules of the house.
"""
import os
import re
import subprocess
import sys
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

# Which of our crates a crate may use. A crate that is not listed here fails the check.
OURS = {
    "onceover-engine": set(),
    "onceover-wire": {"onceover-engine"},
    "onceover-store": {"onceover-engine"},
    "onceover-broker": {"onceover-engine", "onceover-wire", "onceover-store"},
    "onceover-inspect": {"onceover-engine", "onceover-wire", "onceover-broker"},
    "onceover-headless": {"onceover-inspect", "onceover-broker"},
    "onceover-sim": {"onceover-engine", "onceover-store", "onceover-broker"},
    "onceover-bench": {"onceover-engine", "onceover-wire", "onceover-store", "onceover-broker"},
    "onceover-fuzz": {"onceover-engine", "onceover-wire", "onceover-store"},
    "onceover": {"onceover-inspect", "onceover-broker"},
}
# Which crates may use a library: bytes, SQL, JSON for the window, sockets and the desktop each have one home.
HOMES = {
    "rusqlite": {"onceover-store"},
    "tokio": {"onceover-broker", "onceover-headless", "onceover"},
    "axum": {"onceover-headless"},
    "tauri": {"onceover"},
    "rmp": {"onceover-wire"},
    "rmpv": {"onceover-wire"},
}
# What the engine must not touch: it is given the time and has no world around it.
ENGINE_FORBIDS = ["std::time::Instant", "SystemTime", "std::fs", "std::net", "std::thread", "std::sync::Mutex", "tokio", "rusqlite"]
UNFINISHED = ["todo" + "!", "unimplemented" + "!", "#[ig" + "nore"]
# Ways to make markup or code of a text; the window shows what clients send, and needs none of them.
MARKUP = ["{@html", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "new Function", "eval("]
# Paths and hosts of one machine have no place in a project that others clone; ada is the user of examples.
MACHINE = [re.compile(text) for text in (r"/home/(?!ada/)\w", r"/ro" + r"ot/", r"/wo" + r"rk/", r"/Users/\w", r"registry\.npmjs" + r"\.org")]
TEXT = (".rs", ".toml", ".py", ".ts", ".svelte", ".css", ".html", ".json", ".md", ".mjs", ".sh", "Makefile", "run")


def files():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [path for path in listed if path.endswith(TEXT) and os.path.isfile(os.path.join(ROOT, path))]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def directions(paths):
    """Dependencies between our crates, and the home of each library."""
    for path in paths:
        if not path.endswith("Cargo.toml") or path.startswith("tests/"):
            continue
        manifest = tomllib.loads(read(path))
        if "package" not in manifest:
            continue
        name = manifest["package"]["name"]
        if name not in OURS:
            yield f"{path}: the crate {name} is not in the list of allowed directions"
            continue
        for dependency in manifest.get("dependencies", {}):
            if dependency.startswith("onceover") and dependency not in OURS[name]:
                yield f"{path}: {name} must not depend on {dependency}"
            if name not in HOMES.get(dependency, {name}):
                yield f"{path}: {dependency} belongs to {', '.join(sorted(HOMES[dependency]))}"


def without_texts(source):
    """The source with strings, characters and comments blanked, lines kept, so that braces can be counted."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|r(#*)"(?:.|\n)*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\\n])\'', re.DOTALL
    )
    return token.sub(lambda found: "\n" * found[0].count("\n"), source)


def long_functions(source):
    """Name and length of each function that is longer than the limit."""
    code = without_texts(source)
    for found in re.finditer(r"\bfn\s+(\w+)", code):
        depth, place = 0, found.end()
        while place < len(code):
            if code[place] == ";" and depth == 0:
                break
            if code[place] in "([":
                depth += 1
            elif code[place] in ")]":
                depth -= 1
            elif code[place] == "{" and depth == 0:
                break
            place += 1
        if place >= len(code) or code[place] == ";":
            continue
        depth, end = 0, place
        while end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            if depth == 0:
                break
            end += 1
        lines = code.count("\n", found.start(), end) + 1
        if lines > FUNCTION_LINES_MAX:
            yield found[1], lines


def shape(paths):
    """File headers, lengths, and what must not be left in."""
    for path in paths:
        source = read(path)
        if path.endswith((".rs", ".py", ".ts", ".svelte", ".mjs")) and "bindings/" not in path:
            lines = source.count("\n")
            if lines > FILE_LINES_MAX and path != "tests/dedup/replay.py":
                yield f"{path}: {lines} lines, at most {FILE_LINES_MAX}"
        if path != "tests/tidy.py" and not path.endswith("package-lock.json"):
            for number, line in enumerate(source.splitlines(), 1):
                if any(pattern.search(line) for pattern in MACHINE):
                    yield f"{path}:{number}: names a path or host of one machine"
        if path.startswith("ui/src/") and not path.endswith(".test.ts"):
            yield from (f"{path}: makes markup or code of a text: {word}" for word in MARKUP if word in source)
        if not path.endswith(".rs"):
            continue
        if not source.startswith("//!"):
            yield f"{path}: does not begin with //!"
        for word in UNFINISHED:
            if word in without_texts(source):
                yield f"{path}: contains {word}"
        for name, lines in long_functions(source):
            yield f"{path}: fn {name} has {lines} lines, at most {FUNCTION_LINES_MAX}"
        if path.startswith("crates/engine/src/"):
            for word in ENGINE_FORBIDS:
                if word in without_texts(source):
                    yield f"{path}: the engine must not use {word}"


def listed_files():
    """Files that ARCHITECTURE.md names exist: a back-quoted path with a slash and an ending."""
    if not os.path.isfile(os.path.join(ROOT, "ARCHITECTURE.md")):
        yield "ARCHITECTURE.md is missing"
        return
    for path in re.findall(r"`((?:[\w.-]+/)+[\w-]+\.(?:rs|ts|py|toml|json|md|svelte))`", read("ARCHITECTURE.md")):
        if not os.path.exists(os.path.join(ROOT, path)):
            yield f"ARCHITECTURE.md names {path}, which does not exist"


def main():
    paths = files()
    problems = [*directions(paths), *shape(paths), *listed_files()]
    for problem in problems:
        print("UNTIDY", problem)
    print(f"{len(paths)} files looked at, {len(problems)} problems")
    return 1 if problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
