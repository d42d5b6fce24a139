//! One connection over a real socket, with the test in the place of the core.

use super::*;
use crate::inbox::{Ask, Frames};
use crate::limits::{INBOX_BYTES_MAX, LONG_FRAME_BYTES, MESSAGE_FRAMES_MAX, READ_BYTES, SHORT_BATCH_JOBS_MAX};
use crate::mail::Mail;
use onceover_engine::names::ConnId;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::OwnedSemaphorePermit;

/// `{cmd: "Ping"}` as a frame.
const PING: &[u8] = b"\x00\x00\x00\x0a\x81\xa3cmd\xa4Ping";
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection whose core is the test: the client's socket, and what the core would be told.
async fn pair(silence_max: Duration) -> (TcpStream, Inbox, Arc<Mail>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (accepted, peer) = listener.accept().await.unwrap();
    let (inbox, mail) = Inbox::new();
    let client = Arc::new(Client::new(ConnId(1), peer));
    let settings = ConnSettings { partial_frame_timeout: Some(silence_max), ..ConnSettings::default() };
    let session = Session { client, inbox: inbox.clone(), access: Arc::default(), settings };
    tokio::spawn(serve(accepted, session));
    (socket, inbox, mail)
}

/// The next message; the runtime goes on meanwhile.
async fn next(mail: &Mail) -> Message {
    let wait = async {
        loop {
            match mail.next() {
                Some(message) => break message,
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    };
    timeout(PATIENCE, wait).await.expect("a message in time")
}

async fn connected(mail: &Mail) -> Line {
    let Message::Connected { line, .. } = next(mail).await else { panic!("something else came first") };
    line
}

async fn frames(mail: &Mail) -> Frames {
    let Message::Frames(frames) = next(mail).await else { panic!("something else came") };
    frames
}

#[tokio::test]
async fn frames_of_one_read_come_together_in_any_chunking() {
    let (mut socket, _inbox, mail) = pair(PATIENCE).await;
    let _line = connected(&mail).await;
    socket.write_all(&PING.repeat(3)).await.unwrap();
    let arrived = frames(&mail).await;
    assert_eq!((arrived.frames.len(), arrived.bytes, arrived.last), (3, 3 * PING.len(), false));
    for byte in PING {
        socket.write_all(&[*byte]).await.unwrap();
    }
    let arrived = frames(&mail).await;
    assert_eq!((arrived.frames.len(), arrived.frames[0].request), (1, 3));
    assert!(matches!(arrived.frames[0].ask, Ask::Ping));
}

#[tokio::test]
async fn many_frames_are_cut_into_messages() {
    let (mut socket, _inbox, mail) = pair(PATIENCE).await;
    let _line = connected(&mail).await;
    let count = 2 * MESSAGE_FRAMES_MAX + 1;
    assert!(count * PING.len() < READ_BYTES, "all of it fits into one read");
    socket.write_all(&PING.repeat(count)).await.unwrap();
    let mut arrived = 0;
    while arrived < count {
        let frames = frames(&mail).await;
        assert!(frames.frames.len() <= MESSAGE_FRAMES_MAX);
        arrived += frames.frames.len();
    }
    assert_eq!(arrived, count);
}

#[tokio::test]
async fn a_full_inbox_stops_reading_until_there_is_room() {
    let (mut socket, inbox, mail) = pair(PATIENCE).await;
    let _line = connected(&mail).await;
    let all = inbox.room_for(INBOX_BYTES_MAX).await;
    socket.write_all(PING).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(mail.next().is_none(), "a frame came into a full inbox");
    drop(all);
    let arrived = frames(&mail).await;
    assert_eq!(arrived.permit.as_ref().map(OwnedSemaphorePermit::num_permits), Some(PING.len()));
}

#[tokio::test]
async fn silence_in_a_frame_ends_the_connection_and_silence_between_frames_does_not() {
    let (mut socket, _inbox, mail) = pair(Duration::from_millis(100)).await;
    let _line = connected(&mail).await;
    socket.write_all(PING).await.unwrap();
    frames(&mail).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(mail.next().is_none(), "an idle connection was closed");
    socket.write_all(&PING[..5]).await.unwrap();
    let Message::Problem(_, problem) = next(&mail).await else { panic!("no problem was told") };
    assert_eq!(problem.label, "unfinished frame");
    assert!(matches!(next(&mail).await, Message::HungUp(ConnId(1))));
    assert!(matches!(next(&mail).await, Message::Disconnected(ConnId(1))));
    let reset = socket.read(&mut [0]).await.unwrap_err();
    assert_eq!(reset.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn the_core_ends_a_connection_by_letting_go_of_its_line() {
    let (mut socket, _inbox, mail) = pair(PATIENCE).await;
    drop(connected(&mail).await);
    assert_eq!(timeout(PATIENCE, socket.read(&mut [0])).await.unwrap().unwrap(), 0);
    drop(socket);
    assert!(matches!(next(&mail).await, Message::HungUp(ConnId(1))));
    assert!(matches!(next(&mail).await, Message::Disconnected(ConnId(1))));
}

/// `{cmd: "PUSHB", queue: "q", jobs}` as a frame; `jobs` are whole values.
fn batch(count: usize, jobs: &[u8]) -> Vec<u8> {
    let mut payload = b"\x83\xa3cmd\xa5PUSHB\xa5queue\xa1q\xa4jobs\xdd".to_vec();
    payload.extend_from_slice(&(count as u32).to_be_bytes());
    payload.extend_from_slice(jobs);
    [&(payload.len() as u32).to_be_bytes()[..], &payload].concat()
}

#[tokio::test]
async fn a_long_frame_has_room_of_its_own_and_keeps_its_place() {
    let (mut socket, inbox, mail) = pair(PATIENCE).await;
    let _line = connected(&mail).await;
    let data =
        [&b"\x81\xa4data\xc6"[..], &(LONG_FRAME_BYTES as u32).to_be_bytes(), &vec![7; LONG_FRAME_BYTES]].concat();
    let long = batch(1, &data);
    socket.write_all(&[PING, &long, PING].concat()).await.unwrap();
    let arrived = [frames(&mail).await, frames(&mail).await, frames(&mail).await];
    let order: Vec<u64> = arrived.iter().flat_map(|frames| &frames.frames).map(|frame| frame.request).collect();
    assert_eq!(order, [0, 1, 2]);
    assert!(arrived[1].bytes >= long.len() && arrived[1].permit.is_some());
    assert!(
        timeout(PATIENCE, inbox.room_for(INBOX_BYTES_MAX - 2 * PING.len())).await.is_ok(),
        "short ones wait for it"
    );
}

#[tokio::test]
async fn a_batch_counts_with_the_memory_that_it_takes() {
    let (mut socket, _inbox, mail) = pair(PATIENCE).await;
    let _line = connected(&mail).await;
    for count in [10, SHORT_BATCH_JOBS_MAX, SHORT_BATCH_JOBS_MAX + 1, 50_000] {
        let bytes = batch(count, &vec![0x80; count]);
        socket.write_all(&bytes).await.unwrap();
        let (mut jobs, mut weight, mut permits) = (0, 0, 0);
        while jobs < count {
            let arrived = frames(&mail).await;
            jobs += match &arrived.frames[0].ask {
                Ask::Engine(_) => count,
                Ask::Part(part) => part.adds.len(),
                _ => panic!("something else came"),
            };
            weight += arrived.bytes;
            permits += arrived.permit.map_or(0, |permit| permit.num_permits());
        }
        assert_eq!(jobs, count);
        for bytes in [weight, permits] {
            assert!(bytes > 200 * count && bytes < 1_000 * count, "{bytes} bytes for {count} jobs");
        }
    }
}

#[tokio::test]
async fn a_short_frame_that_grows_waits_for_the_room_that_it_takes() {
    let (mut socket, inbox, mail) = pair(PATIENCE).await;
    let _line = connected(&mail).await;
    let all = inbox.room_for(INBOX_BYTES_MAX - 10_000).await;
    socket.write_all(&[PING, &batch(500, &[0x80; 500]), PING].concat()).await.unwrap();
    assert_eq!(frames(&mail).await.frames.len(), 1, "what fits goes first");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(mail.next().is_none(), "the batch came in without room");
    drop(all);
    let arrived = frames(&mail).await;
    assert_eq!(arrived.frames.iter().map(|frame| frame.request).collect::<Vec<_>>(), [1, 2]);
}
