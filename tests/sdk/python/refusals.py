"""The methods whose commands this version does not have: each is called, and told so by the command's name.

`tests/sdk/unsupported.json` lists them for all clients. A method that is answered must leave that list, and is then
missing here, in the checks of what it does.
"""
import json
import os

from client import checks, connect, pull, refused, same

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unsupported.json"), encoding="utf-8") as file:
    LISTED = json.load(file)["python"]

# How each is called, on a queue or on a job.
CALLS = {
    "Queue.get_children_values": lambda queue: queue.get_children_values("j"),
    "Queue.get_failed_children_values": lambda queue: queue.get_failed_children_values("j"),
    "Queue.get_ignored_children_failures": lambda queue: queue.get_ignored_children_failures("j"),
    "Queue.remove_child_dependency": lambda queue: queue.remove_child_dependency("j"),
    "Queue.remove_unprocessed_children": lambda queue: queue.remove_unprocessed_children("j"),
    "Job.get_children_values": lambda queue: pull(queue)[0].get_children_values(),
}


@checks
def refusals():
    """what this version does not have is refused by name, and changes nothing"""
    same(sorted(CALLS), sorted(LISTED))
    with connect() as queue:
        queue.add("x", {})
        for method, command in LISTED.items():
            refused(f"Unknown command: {command}", lambda method=method: CALLS[method](queue))
        same((queue.count(), queue.get_active_count()), (0, 1))

