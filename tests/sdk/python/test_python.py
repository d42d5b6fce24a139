#!/usr/bin/env python3
"""The official Python client, as published, against a broker: ids and keys, and every method it offers.

The last check fails when a method of `Queue`, `Worker` or `Job` was not called by any other, so that a new version of
the client cannot bring one unnoticed.
"""
import sys

import flows
import job_options
import keys
import limits
import queue_methods
import schedulers
import worker_methods

from client import broker, checks, same, unused

PARTS = (keys, job_options, queue_methods, worker_methods, limits, schedulers, flows)


@checks
def coverage():
    """every public method and property of Queue, Worker and Job was used"""
    if len(sys.argv) == 1:
        same(unused(), [])


def main():
    with broker:
        return broker.judge(checks.run())


if __name__ == "__main__":
    sys.exit(main())
