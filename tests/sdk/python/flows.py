"""Trees of jobs with the Python client: its `FlowProducer` builds, reads and fails them as its documentation says."""
from bunqueue import FlowProducer, UnrecoverableError

from client import broker, checks, connect, fresh, pull, refused, same, until, work


def producer():
    return FlowProducer(host="127.0.0.1", port=broker.port)


def leaf(name, queue, **opts):
    return {"name": name, "queueName": queue.name, "data": {"of": name}, "opts": opts}


def never(_):
    raise UnrecoverableError("never")


@checks
def a_tree_runs_leaf_first():
    """a tree over two queues: built, read back, run leaf first, and its parent reads what the children returned"""
    with connect() as parents, connect() as children, producer() as flow:
        grandchild = leaf("grandchild", children)
        middle = {**leaf("middle", children), "children": [grandchild]}
        made = flow.add({**leaf("root", parents), "children": [middle, leaf("other", children, remove_on_complete=True)]})
        root, (middle, other) = made.job.id, [node.job.id for node in made.children]
        same(parents.get_state(root), "waiting-children")
        same(parents.get_job(middle).parent_id, root)
        same(parents.get_job(middle).data["__parentId"], root)
        read = flow.get_flow(root)
        same(([node.job.id for node in read.children], read.children[0].children[0].job.name), ([middle, other], "grandchild"))
        same(flow.get_flow(root, depth=0).children, [])
        same(flow.get_flow("nobody"), None)
        ran, seen = [], {}

        def run(job):
            ran.append(job.name)
            seen[job.name] = job.get_children_values()
            return {"done": job.name}

        with work(children, run), work(parents, run):
            same(parents.wait_for_job(root, 10_000), {"done": "root"})
        same((sorted(ran[:-1]), ran[-1]), (["grandchild", "middle", "other"], "root"))
        assert ran.index("grandchild") < ran.index("middle"), ran
        values = {f"{children.name}:{middle}": {"done": "middle"}, f"{children.name}:{other}": {"done": "other"}}
        same(seen["root"], values)
        same(parents.get_state(other), "unknown")
        same(parents.get_children_values(root), {f"{children.name}:{middle}": {"done": "middle"}})


@checks
def many_trees_chains_and_fan_in():
    """add_bulk, add_chain and add_bulk_then: what follows runs when what comes before is done"""
    with connect() as queue, producer() as flow:
        trees = flow.add_bulk([{**leaf(f"root {n}", queue), "children": [leaf(f"leaf {n}", queue)]} for n in (1, 2)])
        chain = flow.add_chain([leaf(name, queue) for name in ("one", "two", "three")])
        fan = flow.add_bulk_then([leaf(f"part {n}", queue) for n in (1, 2, 3)], leaf("sum", queue))
        same([queue.get_state(one) for one in chain], ["waiting", "waiting-children", "waiting-children"])
        same(queue.get_state(fan["final_id"]), "waiting-children")
        ran = []
        with work(queue, lambda job: ran.append(job.id) or len(ran)):
            for last in (*(node.job.id for node in trees), chain[-1], fan["final_id"]):
                queue.wait_for_job(last, 10_000)
        same([one for one in ran if one in chain], chain)
        for node in trees:
            assert ran.index(node.children[0].job.id) < ran.index(node.job.id)
        assert all(ran.index(part) < ran.index(fan["final_id"]) for part in fan["parallel_ids"])
        same(set(queue.get_children_values(fan["final_id"])), {f"{queue.name}:{part}" for part in fan["parallel_ids"]})


def failing(policy):
    """A parent of a failed child with this policy and of one that waits, when the failure is known."""
    queue, others, flow = connect(), connect(), producer()
    opts = {policy: True} if policy else {}
    made = flow.add({**leaf("root", queue), "children": [leaf("bad", others, **opts), leaf("good", queue)]})
    bad = made.children[0].job.id
    with work(others, never):
        until("the child has failed", lambda: queue.get_state(bad) == "failed")
    return queue, flow, made.job.id, f"{others.name}:{bad}"


@checks
def failures_of_children():
    """each failure policy: what becomes of the parent, and what it can read of the failure"""
    for policy, state, failed, ignored, after in (
        (None, "waiting-children", False, False, "waiting-children"),
        ("fail_parent_on_failure", "failed", False, False, "failed"),
        ("continue_parent_on_failure", "waiting", True, False, "waiting"),
        ("ignore_dependency_on_failure", "waiting-children", False, True, "waiting"),
        ("remove_dependency_on_failure", "waiting-children", False, False, "waiting"),
    ):
        queue, flow, root, name = failing(policy)
        with flow, queue:
            until("the parent has heard", lambda: queue.get_state(root) == state)
            same((policy, queue.get_failed_children_values(root)), (policy, {name: "never"} if failed else {}))
            same((policy, queue.get_ignored_children_failures(root)), (policy, {name: "never"} if ignored else {}))
            good, token = pull(queue)
            while good.id == root:
                queue.move_job_to_wait(root, token)
                queue.change_job_delay(root, 60_000)
                good, token = pull(queue)
            queue.move_job_to_completed(good.id, 1, token)
            got = queue.get_state(root)
            same((policy, "waiting" if got == "delayed" else got), (policy, after))


@checks
def links_by_hand():
    """a child is detached, what has not begun is removed, and unknown jobs are refused by name"""
    with connect() as queue, connect() as children, producer() as flow:
        made = flow.add({**leaf("root", queue), "children": [leaf(name, children) for name in "abc"]})
        root, ids = made.job.id, [node.job.id for node in made.children]
        same(queue.remove_child_dependency(ids[0]), None)
        same(queue.get_job(root).children_ids, ids[1:])
        refused(f"Job {ids[0]} has no parent", lambda: queue.remove_child_dependency(ids[0]))
        refused("Job not found: nobody", lambda: queue.remove_child_dependency("nobody"))
        same(queue.remove_unprocessed_children(root), None)
        same([queue.get_state(one) for one in ids], ["waiting", "unknown", "unknown"])
        same(queue.get_state(root), "waiting")
        same(queue.remove_unprocessed_children("nobody"), None)
        same(queue.get_children_values("nobody"), {})


@checks
def a_flow_that_fails_leaves_nothing():
    """the client takes back what it had added when a part of a tree is refused"""
    with connect() as queue, producer() as flow:
        child = leaf("child", queue, job_id=fresh("child"))
        refused("priority", lambda: flow.add({**leaf("root", queue, priority=9_999_999), "children": [child]}))
        same(queue.get_state(child["opts"]["job_id"]), "unknown")
        same(queue.count(), 0)
