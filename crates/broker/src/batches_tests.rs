//! Order, end, and who is woken.

use super::*;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake};

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn batch(request: u64) -> Vec<Out> {
    vec![Out::Hello { request }]
}

fn first(batch: Option<Vec<Out>>) -> Option<u64> {
    match batch?[..] {
        [Out::Hello { request }] => Some(request),
        _ => None,
    }
}

/// Polls the receiver once.
fn poll(receiver: &mut BatchReceiver, woken: &Arc<Woken>) -> Poll<Option<u64>> {
    let waker = Waker::from(Arc::clone(woken));
    pin!(receiver.recv()).poll(&mut Context::from_waker(&waker)).map(first)
}

#[test]
fn batches_come_in_order_and_end_with_the_sender() {
    let (sender, mut receiver) = batches();
    let woken = Arc::<Woken>::default();
    (0..3).for_each(|request| sender.send(batch(request)));
    assert_eq!(first(receiver.try_recv()), Some(0));
    drop(sender);
    let rest: Vec<_> = (0..3).map(|_| poll(&mut receiver, &woken)).collect();
    assert_eq!(rest, [Poll::Ready(Some(1)), Poll::Ready(Some(2)), Poll::Ready(None)]);
}

#[test]
fn who_waits_is_woken_by_a_batch_and_by_the_end() {
    let (sender, mut receiver) = batches();
    let woken = Arc::<Woken>::default();
    assert!(poll(&mut receiver, &woken).is_pending());
    sender.send(batch(1));
    sender.send(batch(2));
    assert_eq!(woken.0.load(Ordering::Relaxed), 1, "once is enough");
    assert_eq!(poll(&mut receiver, &woken), Poll::Ready(Some(1)));
    assert_eq!(poll(&mut receiver, &woken), Poll::Ready(Some(2)));
    assert!(poll(&mut receiver, &woken).is_pending());
    drop(sender);
    assert_eq!(woken.0.load(Ordering::Relaxed), 2);
}

#[test]
fn what_it_brings_about_itself_wakes_nobody_and_is_there() {
    let (sender, mut receiver) = batches();
    let woken = Arc::<Woken>::default();
    assert!(poll(&mut receiver, &woken).is_pending());
    receiver.attention().during(|| sender.send(batch(1)));
    assert_eq!(woken.0.load(Ordering::Relaxed), 0);
    assert_eq!(poll(&mut receiver, &woken), Poll::Ready(Some(1)));
    assert!(poll(&mut receiver, &woken).is_pending());
    sender.send(batch(2));
    assert_eq!(woken.0.load(Ordering::Relaxed), 1, "afterwards it is woken as before");
}
