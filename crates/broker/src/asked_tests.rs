//! How much a connection may have in progress, at the bound and one past it.

use super::*;
use onceover_wire::decode::decode;
use std::time::Duration;
use tokio::time::timeout;

/// A request id of some 60,000 bytes.
fn long_id() -> ReqId {
    let text = vec![b'r'; 0xea60];
    let frame = [b"\x81\xa5reqId\xda\xea\x60".as_slice(), &text].concat();
    decode(&frame).req_id.expect("the frame has one")
}

async fn waits(asked: &Asked) -> bool {
    timeout(Duration::from_millis(1), asked.room()).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn the_number_in_progress_is_bounded() {
    let asked = Asked::default();
    (0..IN_PROGRESS_MAX as u64 - 1).for_each(|request| asked.ask(request, None, false));
    assert!(!waits(&asked).await);
    asked.ask(9_999, None, false);
    assert!(waits(&asked).await);
    let room = asked.room();
    let answer = async {
        assert!(asked.lock().take(7).is_none());
        asked.answered();
    };
    timeout(Duration::from_secs(1), async { tokio::join!(room, answer) }).await.expect("there is room again");
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_ids_are_bounded() {
    let asked = Asked::default();
    let mut requests = 0;
    while !asked.is_full() {
        asked.ask(requests, Some(long_id()), false);
        requests += 1;
    }
    assert_eq!(requests as usize, IN_PROGRESS_ID_BYTES_MAX.div_ceil(long_id().bytes().len()));
    assert_eq!(asked.lock().take(0), Some(long_id()));
    assert!(!waits(&asked).await);
    assert_eq!(asked.lock().take(0), None, "an answer too many finds nothing");
}

#[test]
fn a_protocol_2_client_stays_one() {
    let asked = Asked::default();
    asked.ask(0, None, true);
    asked.ask(1, None, false);
    assert!(asked.lock().protocol2);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_behind_a_long_command_until_it_is_answered() {
    let asked = Asked::default();
    asked.ask(0, None, false);
    asked.ask(1, None, false);
    asked.wait_for(1);
    assert!(asked.lock().take(0).is_none());
    assert!(waits(&asked).await, "another answer changes nothing");
    assert!(asked.lock().take(1).is_none());
    assert!(!waits(&asked).await);
}
