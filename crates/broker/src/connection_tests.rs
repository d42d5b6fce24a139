//! One connection over a real socket, with the test in the place of the core.

use super::*;
use crate::inbox::Ask;
use crate::limits::{INBOX_BYTES_MAX, READ_BYTES};
use onceover_engine::names::ConnId;
use std::sync::mpsc;
use std::time::Duration;
use tokio::net::TcpListener;

/// `{cmd: "Ping"}` as a frame.
const PING: &[u8] = b"\x00\x00\x00\x0a\x81\xa3cmd\xa4Ping";
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection whose core is the test: the client's socket, and what the core would be told.
async fn pair(silence_max: Duration) -> (TcpStream, Inbox, mpsc::Receiver<Message>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (accepted, peer) = listener.accept().await.unwrap();
    let (inbox, messages) = Inbox::new();
    let client = Arc::new(Client::new(ConnId(1), peer));
    let settings = ConnSettings { partial_frame_timeout: Some(silence_max), ..ConnSettings::default() };
    let session = Session { client, inbox: inbox.clone(), access: Arc::default(), settings };
    tokio::spawn(serve(accepted, session));
    (socket, inbox, messages)
}

/// The next message; the runtime goes on meanwhile.
async fn next(messages: &mpsc::Receiver<Message>) -> Message {
    let wait = async {
        loop {
            match messages.try_recv() {
                Ok(message) => break message,
                Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    };
    timeout(PATIENCE, wait).await.expect("a message in time")
}

async fn connected(messages: &mpsc::Receiver<Message>) -> Line {
    let Message::Connected { line, .. } = next(messages).await else { panic!("something else came first") };
    line
}

async fn frames(messages: &mpsc::Receiver<Message>) -> Frames {
    let Message::Frames(frames) = next(messages).await else { panic!("something else came") };
    frames
}

#[tokio::test]
async fn frames_of_one_read_come_together_in_any_chunking() {
    let (mut socket, _inbox, messages) = pair(PATIENCE).await;
    let _line = connected(&messages).await;
    socket.write_all(&PING.repeat(3)).await.unwrap();
    let arrived = frames(&messages).await;
    assert_eq!((arrived.frames.len(), arrived.bytes, arrived.last), (3, 3 * PING.len(), false));
    for byte in PING {
        socket.write_all(&[*byte]).await.unwrap();
    }
    let arrived = frames(&messages).await;
    assert_eq!((arrived.frames.len(), arrived.frames[0].request), (1, 3));
    assert!(matches!(arrived.frames[0].ask, Ask::Ping));
}

#[tokio::test]
async fn many_frames_are_cut_into_messages() {
    let (mut socket, _inbox, messages) = pair(PATIENCE).await;
    let _line = connected(&messages).await;
    let count = 2 * MESSAGE_FRAMES_MAX + 1;
    assert!(count * PING.len() < READ_BYTES, "all of it fits into one read");
    socket.write_all(&PING.repeat(count)).await.unwrap();
    let mut arrived = 0;
    while arrived < count {
        let frames = frames(&messages).await;
        assert!(frames.frames.len() <= MESSAGE_FRAMES_MAX);
        arrived += frames.frames.len();
    }
    assert_eq!(arrived, count);
}

#[tokio::test]
async fn a_full_inbox_stops_reading_until_there_is_room() {
    let (mut socket, inbox, messages) = pair(PATIENCE).await;
    let _line = connected(&messages).await;
    let all = inbox.room_for(INBOX_BYTES_MAX).await;
    socket.write_all(PING).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(messages.try_recv().is_err(), "a frame came into a full inbox");
    drop(all);
    let arrived = frames(&messages).await;
    assert_eq!(arrived.permit.as_ref().map(OwnedSemaphorePermit::num_permits), Some(PING.len()));
}

#[tokio::test]
async fn silence_in_a_frame_ends_the_connection_and_silence_between_frames_does_not() {
    let (mut socket, _inbox, messages) = pair(Duration::from_millis(100)).await;
    let _line = connected(&messages).await;
    socket.write_all(PING).await.unwrap();
    frames(&messages).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(messages.try_recv().is_err(), "an idle connection was closed");
    socket.write_all(&PING[..5]).await.unwrap();
    let Message::Problem(_, problem) = next(&messages).await else { panic!("no problem was told") };
    assert_eq!(problem.label, "unfinished frame");
    assert!(matches!(next(&messages).await, Message::HungUp(ConnId(1))));
    assert!(matches!(next(&messages).await, Message::Disconnected(ConnId(1))));
    let reset = socket.read(&mut [0]).await.unwrap_err();
    assert_eq!(reset.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn the_core_ends_a_connection_by_letting_go_of_its_line() {
    let (mut socket, _inbox, messages) = pair(PATIENCE).await;
    drop(connected(&messages).await);
    assert_eq!(timeout(PATIENCE, socket.read(&mut [0])).await.unwrap().unwrap(), 0);
    drop(socket);
    assert!(matches!(next(&messages).await, Message::HungUp(ConnId(1))));
    assert!(matches!(next(&messages).await, Message::Disconnected(ConnId(1))));
}
