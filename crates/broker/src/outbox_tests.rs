//! What leaves the core, in which order, and when a line is cut.

use super::*;
use onceover_engine::event::EventKind;

const A: ConnId = ConnId(1);
const B: ConnId = ConnId(2);

fn pong(request: u64) -> Out {
    Out::Pong { request, now: Timestamp(0) }
}

fn event() -> Out {
    Out::Event(Arc::new(Event { queue: Arc::from("q"), job: None, at: Timestamp(0), kind: EventKind::Paused }))
}

/// What came down a line, one text per batch.
fn received(end: &mut LineEnd) -> Vec<String> {
    let name = |out: &Out| match out {
        Out::Reply { request, .. }
        | Out::Refused { request, .. }
        | Out::Hello { request }
        | Out::Figures { request, .. }
        | Out::Pong { request, .. } => request.to_string(),
        Out::Event(_) => "event".to_owned(),
        Out::Unsubscribed { .. } => "unsubscribed".to_owned(),
        Out::Close => "close".to_owned(),
    };
    std::iter::from_fn(|| end.batches.try_recv())
        .map(|batch| batch.iter().map(name).collect::<Vec<_>>().join(" "))
        .collect()
}

fn refused(bytes: usize) -> Out {
    Out::Refused { request: 0, text: "x".repeat(bytes).into() }
}

#[test]
fn nothing_leaves_before_the_release_and_each_connection_keeps_its_order() {
    let mut outbox = Outbox::default();
    let ((line_a, mut end_a), (line_b, mut end_b)) = (Line::new(), Line::new());
    outbox.connect(A, line_a);
    outbox.connect(B, line_b);
    for (conn, out) in [(A, event()), (A, pong(1)), (B, pong(7)), (A, pong(2))] {
        outbox.push(conn, out);
    }
    assert!(received(&mut end_a).is_empty());
    assert!(outbox.release().is_empty());
    assert_eq!(received(&mut end_a), ["event 1 2"]);
    assert_eq!(received(&mut end_b), ["7"]);
    assert!(outbox.release().is_empty());
    assert!(received(&mut end_a).is_empty(), "a batch was sent twice");
}

#[test]
fn a_discarded_turn_leaves_nothing_behind() {
    let mut outbox = Outbox::default();
    let (line, mut end) = Line::new();
    outbox.connect(A, line);
    outbox.push(A, pong(1));
    outbox.discard();
    outbox.push(A, pong(2));
    outbox.release();
    assert_eq!(received(&mut end), ["2"]);
}

#[test]
fn what_is_for_a_connection_that_is_gone_is_dropped() {
    let mut outbox = Outbox::default();
    let (line, mut end) = Line::new();
    outbox.connect(A, line);
    outbox.push(A, pong(1));
    outbox.disconnect(A);
    outbox.push(A, pong(2));
    assert!(outbox.release().is_empty());
    assert!(end.batches.try_recv().is_none());
    assert_eq!(outbox.conns().count(), 0);
}

#[test]
fn who_is_gone_is_not_called_slow() {
    let mut outbox = Outbox::default();
    let (line, end) = Line::new();
    outbox.connect(A, line);
    drop(end);
    outbox.push(A, pong(1));
    assert!(outbox.release().is_empty());
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off_at_the_bound() {
    let mut outbox = Outbox::default();
    let (line, end) = Line::new();
    outbox.connect(A, line);
    let part = UNSENT_BYTES_MAX / 4;
    let mut released = 0;
    let cut = loop {
        outbox.push(A, refused(part));
        released += 1;
        let cut = outbox.release();
        if !cut.is_empty() {
            break cut;
        }
        assert!(released < 5, "the bound was passed");
    };
    assert_eq!((cut, released), (vec![A], 4), "each batch is a little more than its text");
    end.fill.cut().await;
}

#[test]
fn what_was_written_makes_room_again() {
    let mut outbox = Outbox::default();
    let (line, mut end) = Line::new();
    outbox.connect(A, line);
    for _ in 0..10 {
        outbox.push(A, refused(UNSENT_BYTES_MAX / 2));
        assert!(outbox.release().is_empty());
        let batch = end.batches.try_recv().expect("a batch was sent");
        let mut written = Weight::default();
        batch.iter().for_each(|out| written.add(out));
        end.fill.written(written);
    }
}

#[test]
fn a_single_answer_larger_than_the_bound_is_sent_all_the_same() {
    let mut outbox = Outbox::default();
    let (line, mut end) = Line::new();
    outbox.connect(A, line);
    outbox.push(A, refused(UNSENT_BYTES_MAX + 1));
    assert!(outbox.release().is_empty());
    assert_eq!(received(&mut end), ["0"]);
    outbox.push(A, pong(1));
    assert_eq!(outbox.release(), [A], "it is still unsent");
}

#[test]
fn several_answers_of_one_turn_count_together() {
    let mut outbox = Outbox::default();
    let (line, _end) = Line::new();
    outbox.connect(A, line);
    outbox.push(A, refused(UNSENT_BYTES_MAX / 2));
    outbox.push(A, refused(UNSENT_BYTES_MAX / 2));
    assert_eq!(outbox.release(), [A]);
}

#[test]
fn a_subscriber_that_does_not_read_gets_no_more_events_and_its_replies_all_the_same() {
    let mut outbox = Outbox::default();
    let (line, mut end) = Line::new();
    outbox.connect(A, line);
    let event = Arc::new(Event { queue: Arc::from("q"), job: None, at: Timestamp(0), kind: EventKind::Paused });
    let fits = UNSENT_EVENT_BYTES_MAX / weight::of_out(&Out::Event(Arc::clone(&event)));
    for number in 0..fits {
        assert!(outbox.push_event(A, &event), "event {number} of {fits}");
        // Whether they wait in one turn or in many makes no difference.
        if number % 1_000 == 0 {
            assert!(outbox.release().is_empty());
        }
    }
    assert!(!outbox.push_event(A, &event));
    assert!(outbox.release().is_empty());
    assert!(!outbox.push_event(A, &event));
    outbox.push(A, pong(1));
    assert!(outbox.release().is_empty());
    let mut written = Weight::default();
    std::iter::from_fn(|| end.batches.try_recv()).flatten().for_each(|out| written.add(&out));
    end.fill.written(written);
    assert!(outbox.push_event(A, &event), "what was written makes room again");
    assert!(outbox.push_event(B, &event), "who is gone is not slow");
}

#[test]
fn those_for_whom_the_most_waits_go_first_when_it_is_too_much_for_all_together() {
    let mut outbox = Outbox::default();
    let count = UNSENT_TOTAL_BYTES_MAX / (UNSENT_BYTES_MAX / 2) + 1;
    let mut ends: Vec<LineEnd> = Vec::new();
    for number in 0..count {
        let (line, end) = Line::new();
        let conn = ConnId(number as u64);
        outbox.connect(conn, line);
        ends.push(end);
        outbox.push(conn, refused(UNSENT_BYTES_MAX / 2 - 10_000 + 1_000 * number));
    }
    let fullest = ConnId(count as u64 - 1);
    assert_eq!(outbox.release(), [fullest]);
    outbox.push(A, pong(1));
    assert!(outbox.release().is_empty(), "the one that was cut is gone soon");
    outbox.disconnect(fullest);
    drop(ends.pop());
    assert_eq!(
        outbox.unsent_bytes.load(Ordering::Relaxed),
        outbox.lines.values().map(|queued| queued.line.unsent_bytes()).sum::<usize>()
    );
}
