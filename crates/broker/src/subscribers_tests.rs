//! Subscriptions.

use super::*;

#[test]
fn a_connection_has_one_queue_at_most() {
    let mut subscribers = Subscribers::default();
    let [a, b] = [ConnId(1), ConnId(2)];
    subscribers.subscribe(a, "x".into());
    subscribers.subscribe(b, "x".into());
    subscribers.subscribe(a, "x".into());
    assert_eq!(subscribers.of("x"), [b, a]);
    subscribers.subscribe(a, "y".into());
    assert_eq!((subscribers.of("x"), subscribers.of("y")), (&[b][..], &[a][..]));
    subscribers.unsubscribe(a);
    subscribers.unsubscribe(a);
    subscribers.unsubscribe(b);
    assert!(subscribers.by_queue.is_empty() && subscribers.by_conn.is_empty());
}
