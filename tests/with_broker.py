#!/usr/bin/env python3
"""Runs a command against a broker of its own: `with_broker.py COMMAND...`, where {port} becomes the broker's TCP port.

The exit code is the command's, or 1 when the broker did not survive it.
"""
import subprocess
import sys

from kit.broker import Broker


def main():
    with Broker() as broker:
        command = [part.replace("{port}", str(broker.port)) for part in sys.argv[1:]]
        return broker.judge(subprocess.call(command, stdin=subprocess.DEVNULL))


if __name__ == "__main__":
    sys.exit(main())
