//! Finding the program behind a socket, here this very test.
#![cfg(target_os = "linux")]
use super::*;
use onceover_engine::names::ConnId;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn finds_the_process_of_a_local_client() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, peer) = listener.accept().unwrap();
    let client = Arc::new(Client::new(ConnId(1), peer));
    let stranger = Arc::new(Client::new(ConnId(2), "127.0.0.1:1".parse().unwrap()));
    let local = accepted.local_addr().unwrap();
    let wanted = [&client, &stranger].map(|client| Wanted { client: Arc::clone(client), local });
    let mut finder = Finder::default();
    finder.find(&wanted);
    assert_eq!(client.process().map(|process| process.pid), Some(std::process::id()));
    assert_eq!(stranger.process(), None);
    assert_eq!(finder.recent, [std::process::id()]);
}

#[tokio::test(start_paused = true)]
async fn when_one_comes_after_the_other_only_those_that_stay_are_looked_for() {
    let (sender, wanted) = channel();
    let looks = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&looks);
    tokio::spawn(find_all(wanted, move || {
        count.fetch_add(1, Ordering::SeqCst);
    }));
    let comes = || {
        let client = Arc::new(Client::new(ConnId(1), "127.0.0.1:1".parse().unwrap()));
        sender.send(Wanted { client: Arc::clone(&client), local: "127.0.0.1:2".parse().unwrap() }).unwrap();
        client
    };
    sleep(QUIET).await;
    comes().leaves();
    sleep(STAY).await;
    assert_eq!(looks.load(Ordering::SeqCst), 1, "the first is looked for at once");
    comes().leaves();
    sleep(STAY * 3 / 2).await;
    assert_eq!(looks.load(Ordering::SeqCst), 1, "the second has left");
    comes();
    sleep(STAY / 2).await;
    assert_eq!(looks.load(Ordering::SeqCst), 1, "the third has not stayed yet");
    sleep(STAY).await;
    assert_eq!(looks.load(Ordering::SeqCst), 2);
}

#[test]
fn reads_both_forms_of_addresses() {
    let cases = [
        ("0: 0100007F:1A85 0100007F:E6F2 01 0:0 00:0 00 0 0 4711 1", "127.0.0.1:6789", "127.0.0.1:59122", 4711),
        (
            "0: 0000000000000000FFFF00000100007F:1A85 00000000000000000000000001000000:0001 01 0:0 00:0 00 0 0 5 1",
            "127.0.0.1:6789",
            "[::1]:1",
            5,
        ),
    ];
    for (line, local, remote, inode) in cases {
        let expected = ((local.parse().unwrap(), remote.parse().unwrap()), inode);
        assert_eq!(linux::row(line), Some(expected), "{line}");
    }
    for broken in ["", "sl local", "0: zz:1 0100007F:1 1 1 1 1 1 1 1"] {
        assert_eq!(linux::row(broken), None, "{broken}");
    }
}
