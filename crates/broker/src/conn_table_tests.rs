//! Who is connected, and the ring of problems.

use super::*;

fn client(conn: u64) -> Arc<Client> {
    Arc::new(Client::new(ConnId(conn), SocketAddr::from(([127, 0, 0, 1], 5000))))
}

fn problem(text: &str) -> Problem {
    Problem { label: "bad frame", text: text.to_owned(), bytes: vec![1] }
}

#[test]
fn a_client_is_named_by_its_program_once_that_is_known() {
    let client = client(3);
    assert_eq!(client.label(), "127.0.0.1:5000 #3");
    client.found(Process { pid: 7, name: "node".to_owned() });
    client.found(Process { pid: 8, name: "other".to_owned() });
    assert_eq!(client.label(), "node #3");
}

#[test]
fn commands_are_counted_while_the_connection_is_open() {
    let mut table = ConnTable::default();
    table.connect(client(1));
    let tally =
        |cmd: &'static str| FrameTally { frames: 3, adds: 2, pulls: 1, acks: 0, errors: 0, last_cmd: Some(cmd.into()) };
    table.frames(ConnId(1), Timestamp(5), tally("PUSH"));
    table.error(ConnId(1));
    table.subscribe(ConnId(1), Some("q".into()));
    table.frames(ConnId(2), Timestamp(5), tally("PULL"));
    let info = table.get(ConnId(1)).expect("it is open");
    assert_eq!((info.commands, info.errors, info.adds, info.pulls), (3, 1, 2, 1));
    assert_eq!((info.last_cmd.as_deref(), info.last_at), (Some("PUSH"), Some(Timestamp(5))));
    assert_eq!(info.subscribed.as_deref(), Some("q"));
    assert!(table.disconnect(ConnId(1)) && !table.disconnect(ConnId(1)));
    assert!(table.client(ConnId(1)).is_some(), "it left in this turn");
    table.forget_gone();
    assert!(table.client(ConnId(1)).is_none());
    assert_eq!((table.len(), table.connected_ever()), (0, 1));
    assert_eq!(table.newest().map(|client| client.conn), Some(ConnId(1)));
}

#[test]
fn only_the_newest_problems_are_kept() {
    let mut table = ConnTable::default();
    for number in 0..=PROBLEMS_MAX {
        let client = Client::new(ConnId(1), SocketAddr::from(([10, 0, 0, (number % 250) as u8], 5000)));
        table.problem(Timestamp(0), Arc::new(client), problem(&number.to_string()));
    }
    let texts: Vec<_> = table.problems().map(|entry| entry.problem.text.clone()).collect();
    assert_eq!(texts.len(), PROBLEMS_MAX);
    assert_eq!((texts[0].as_str(), texts[PROBLEMS_MAX - 1].as_str()), ("200", "1"));
}

#[test]
fn a_noisy_program_leaves_room_for_the_problems_of_others() {
    let mut table = ConnTable::default();
    let (quiet, noisy) = (client(1), client(2));
    quiet.found(Process { pid: 7, name: "node".to_owned() });
    table.problem(Timestamp(0), Arc::clone(&quiet), problem("quiet"));
    for number in 0..3 * PROBLEMS_MAX {
        // It connects anew each time, and its program is not found that quickly.
        let again = if number % 2 == 0 { Arc::clone(&noisy) } else { client(number as u64) };
        table.problem(Timestamp(0), again, problem(&number.to_string()));
    }
    let texts: Vec<_> = table.problems().map(|entry| entry.problem.text.as_str()).collect();
    assert_eq!(texts.len(), PROBLEMS_OF_ONE_MAX + 1);
    assert_eq!((texts[0], texts[PROBLEMS_OF_ONE_MAX]), ("599", "quiet"));
}

#[test]
fn long_texts_are_cut_between_characters() {
    let long = "ä".repeat(SHOWN_TEXT_BYTES_MAX);
    let short = shortened(Cow::Owned(long));
    assert_eq!(short.chars().count(), SHOWN_TEXT_BYTES_MAX / 2 + 1);
    let exact = "x".repeat(SHOWN_TEXT_BYTES_MAX);
    assert_eq!(shortened(Cow::Owned(exact.clone())), exact);
}
