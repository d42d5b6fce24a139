"""The source of the official Rust client, as the registry has it: its tests and examples are not part of the library.

`tests/sdk/rust` names the version, cargo fetches and verifies it, and a copy in the target folder is what gets built:
the copy is made anew each time, so that it is what was published. What the client depends on comes in the versions of
`tests/sdk/rust`, and is built once for both.
"""
import json
import os
import shutil
import subprocess

from .broker import ROOT, TARGET

CLIENT = "bunqueue-client"
BUILD_FOLDER = os.path.join(TARGET, "sdk")
PROJECT = os.path.join(ROOT, "tests", "sdk", "rust")
# The profile of that project, or cargo would build everything a second time.
PROFILE = ["--config", 'profile.dev.debug="line-tables-only"', "--config", 'profile.dev.package."*".debug=false']


def client_source():
    """Copies the client's source and returns the folder."""
    manifest = os.path.join(PROJECT, "Cargo.toml")
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", manifest]
    packages = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["packages"]
    (package,) = [package for package in packages if package["name"] == CLIENT]
    folder = os.path.join(BUILD_FOLDER, f"{CLIENT}-{package['version']}")
    shutil.rmtree(folder, ignore_errors=True)
    # Times are kept, so that cargo builds only what a new version changed.
    shutil.copytree(os.path.dirname(package["manifest_path"]), folder)
    shutil.copy2(os.path.join(PROJECT, "Cargo.lock"), folder)
    return folder


def cargo(folder, subcommand, *args, env=None, **options):
    """Runs cargo in the copy, in the target folder and the profile of all other builds."""
    command = ["cargo", *PROFILE, subcommand, "--quiet", *args]
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, env={**(env or os.environ), "CARGO_TARGET_DIR": TARGET}, **options)
