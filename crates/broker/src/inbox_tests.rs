//! The bound and the order of the inbox.

use super::*;
use std::time::Duration;

#[tokio::test]
async fn a_full_inbox_lets_nobody_in_until_something_was_taken_out() {
    let (inbox, _mail) = Inbox::new();
    let almost_all = inbox.room_for(INBOX_BYTES_MAX - 10).await;
    let rest = inbox.room_for(10).await;
    let waits = tokio::time::timeout(Duration::from_millis(20), inbox.room_for(1)).await;
    assert!(waits.is_err(), "one byte too many was let in");
    drop(rest);
    let _one = inbox.room_for(1).await;
    drop(almost_all);
}

#[tokio::test]
async fn more_than_the_inbox_holds_goes_in_alone() {
    let (inbox, _mail) = Inbox::new();
    let _all = inbox.room_for(INBOX_BYTES_MAX * 2).await;
    assert!(tokio::time::timeout(Duration::from_millis(20), inbox.room_for(1)).await.is_err());
}

#[test]
fn messages_keep_their_order_and_an_ended_core_is_noticed() {
    let (inbox, mail) = Inbox::new();
    for conn in 0..3 {
        inbox.send(Message::Disconnected(ConnId(conn))).expect("the core is there");
    }
    for expected in 0..3 {
        let Some(Message::Disconnected(ConnId(conn))) = mail.next() else { panic!("another message came") };
        assert_eq!(conn, expected);
    }
    mail.close();
    assert_eq!(inbox.send(Message::Stop), Err(CoreGone));
}
