//! Sequences in which the engine once was wrong, and places of the contract that random ones rarely meet.

use crate::check;

#[test]
fn a_queue_that_is_swept_away_in_the_tick_that_woke_it_is_not_served() {
    check(
        "
        push 1 c jobttl=0 timeout=10
        pull c
        pass 5001
        ",
    );
}

#[test]
fn a_stored_add_may_replace_a_job_that_a_restart_has_yet_to_put_back() {
    check(
        "
        push 1 a key=k0 attempts=1
        pull a
        push 2 a key=k0 replace keep
        push 3 a key=k0 replace
        pull a
        restart
        ",
    );
}

#[test]
fn the_next_occurrence_leaves_the_key_to_another_live_owner() {
    check(
        "
        push 1 a key=k0 repeat=1
        pull a
        push 2 a key=k0 replace
        ack 1
        owner a key=k0
        ",
    );
}

#[test]
fn a_job_that_its_worker_parked_waits_for_none_of_its_dependencies() {
    check(
        "
        push 1 a id=x0 rmc
        pull a
        ack t0
        push 2 a after=1
        pull a
        to-children t0
        push 3 a id=x0
        ",
    );
}

#[test]
fn the_window_of_a_generation_that_is_gone_is_not_its_ids_next_one_s() {
    let reused = "
        push 1 a id=x0 key=k0 ttl=6000
        pull a
        ack t0
        push 2 a id=x0
    ";
    let ways = [
        "push 3 a key=k0",
        "push 3 a key=k0 replace",
        "push 3 a key=k0 extend ttl=50",
        "push 3 a key=k0 keep",
        "push 3 a key=k0 keep replace",
        "remove-job-key 2",
        "cancel 2",
        "pull a\nack t0",
        "restart",
    ];
    for way in ways {
        check(&format!("{reused}\n{way}\nowner a key=k0\nprobe"));
    }
}

#[test]
fn a_stored_add_is_not_lost_when_its_id_has_consumers() {
    check(
        "
        push 1 b key=k0
        pull b
        push 2 b key=k0 id=x0 keep
        push 3 a id=x0 rmc
        push 4 a
        push 5 a after=3 after=4
        pull a
        ack t0
        ack 1
        owner b key=k0
        ",
    );
}

#[test]
fn a_completed_dependency_that_becomes_a_child_is_not_waited_for_again() {
    check(
        "
        push 1 a id=x0
        push 2 a
        push 3 a after=1 after=2
        pull a
        ack 1
        adopt 1 by=3
        values 3
        probe
        pull a
        ack 2
        ",
    );
}

#[test]
fn a_batch_is_no_circle_through_a_parent_that_is_joined() {
    check(
        "
        push 9 a id=x0
        pull a
        ack 9
        push 1 b
        push 2 b after=1
        bulk 3 b id=x0 after=2 | 4 b joins=1 after=9
        ",
    );
}

#[test]
fn a_stored_add_joins_no_parent_that_it_would_wait_for() {
    check(
        "
        push 1 a
        push 5 a
        push 3 c key=k0
        pull c
        push 4 c key=k0 keep joins=1 after=5
        adopt 1 by=5
        ack 3
        probe
        ",
    );
}
