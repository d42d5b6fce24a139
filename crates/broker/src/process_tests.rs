//! Finding the program behind a socket, here this very test.
#![cfg(target_os = "linux")]
use super::*;
use onceover_engine::names::ConnId;
use std::net::{TcpListener, TcpStream};

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
