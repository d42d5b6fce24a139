//! Settings that change while clients are connected: the address, the tokens, the data.

#![allow(clippy::unwrap_used)] // A failed step is a failed test.

mod kit;

use kit::{Client, connect, problem, start};
use onceover_broker::{Broker, BrokerConfig, BrokerStatus, DataError, DataPlace, ListenError, StartError, TokensError};
use onceover_store::SimDisk;
use serde_json::json;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

fn tokens(tokens: &[&str]) -> Vec<String> {
    tokens.iter().map(|token| (*token).to_owned()).collect()
}

fn addr(broker: &Broker) -> SocketAddr {
    let BrokerStatus::Listening { addr } = broker.handle().status() else { panic!("it does not listen") };
    addr
}

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("onceover-settings-{name}-{}", std::process::id()))
}

/// A broker on a file of its own.
fn on_disk(name: &str) -> (Broker, PathBuf) {
    let folder = folder(name);
    let config = BrokerConfig { port: 0, ..BrokerConfig::new(DataPlace::Folder(folder.clone())) };
    (Broker::start(config).unwrap(), folder)
}

#[test]
fn the_same_port_can_be_opened_to_other_machines_and_closed_again() {
    let broker = start(&SimDisk::default(), &["secret"]);
    let mut stays = connect(&broker);
    // A connection that was not accepted yet ends with its listener.
    assert_eq!(stays.call("Auth", json!({"token": "secret"}))["ok"], true);
    let loopback = addr(&broker);
    let everywhere = SocketAddr::from(([0, 0, 0, 0], loopback.port()));
    for wanted in [everywhere, loopback, everywhere].into_iter().cycle().take(60) {
        let mut just_in_time = Client::new(loopback);
        assert_eq!(broker.listen(wanted), Ok(wanted));
        assert_eq!(just_in_time.call("Auth", json!({"token": "secret"}))["ok"], true, "who has connected is let in");
        assert_eq!(addr(&broker), wanted);
        assert_eq!(Client::new(loopback).call("Auth", json!({"token": "secret"}))["ok"], true);
    }
    assert_eq!(stays.call("Auth", json!({"token": "secret"}))["ok"], true, "who was connected stays");
}

#[test]
fn a_port_that_is_not_to_be_had_leaves_the_old_one_open() {
    let broker = start(&SimDisk::default(), &["secret"]);
    let before = addr(&broker);
    // Another program has our port on another address of this machine, so neither can be had for all addresses.
    let elsewhere = TcpListener::bind(("127.0.0.2", before.port())).unwrap();
    let everywhere = SocketAddr::from(([0, 0, 0, 0], before.port()));
    assert!(matches!(broker.listen(everywhere), Err(ListenError::InUse { .. })));
    assert_eq!(addr(&broker), before);
    assert_eq!(Client::new(before).call("Auth", json!({"token": "secret"}))["ok"], true);
    drop(elsewhere);
    assert_eq!(broker.listen(everywhere), Ok(everywhere));
}

#[test]
fn a_token_that_goes_takes_its_clients_along() {
    let broker = start(&SimDisk::default(), &["old", "kept"]);
    let handle = broker.handle();
    let (mut old, mut kept, mut not_yet) = (connect(&broker), connect(&broker), connect(&broker));
    assert_eq!(old.call("Auth", json!({"token": "old"}))["ok"], true);
    assert_eq!(kept.call("Auth", json!({"token": "kept"}))["ok"], true);
    assert_eq!(not_yet.call("Ping", json!({}))["error"], "Not authenticated");
    let id = kept.call("PUSH", json!({"queue": "q", "data": 1}))["id"].clone();
    assert_eq!(old.call("PULL", json!({"queue": "q", "owner": "w"}))["job"]["id"], id);
    kept.send("PULL", json!({"queue": "q", "owner": "x", "timeout": 15_000}));
    handle.set_auth_tokens(&tokens(&["kept", "new"])).unwrap();
    assert_eq!(handle.auth_tokens(), ["kept", "new"]);
    assert_eq!(old.read(), None);
    assert_eq!(kept.read().unwrap()["job"]["id"], id, "the job of the one who had to go is handed on");
    assert_eq!(not_yet.call("Auth", json!({"token": "old"}))["error"], "Invalid token");
    assert_eq!(not_yet.call("Auth", json!({"token": "new"}))["ok"], true);
    problem(&broker, "access removed");
}

#[test]
fn the_first_token_closes_the_door_and_the_last_one_stays_while_others_can_reach_it() {
    let broker = start(&SimDisk::default(), &[]);
    let handle = broker.handle();
    let mut open = connect(&broker);
    assert_eq!(open.call("Ping", json!({}))["ok"], true);
    assert!(matches!(handle.set_auth_tokens(&tokens(&["a", ""])), Err(TokensError::Token(_))));
    assert_eq!(open.call("Ping", json!({}))["ok"], true, "nothing has changed");
    handle.set_auth_tokens(&tokens(&["a"])).unwrap();
    assert_eq!(open.read(), None);
    assert_eq!(connect(&broker).call("Ping", json!({}))["error"], "Not authenticated");
    let bound = broker.listen(SocketAddr::from(([0, 0, 0, 0], 0))).unwrap();
    assert_eq!(handle.set_auth_tokens(&[]), Err(TokensError::StillOpen { addr: bound }));
    broker.listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    handle.set_auth_tokens(&[]).unwrap();
    assert_eq!(connect(&broker).call("Ping", json!({}))["ok"], true);
}

#[tokio::test]
async fn other_data_is_opened_and_the_first_is_found_again() {
    let (broker, first) = on_disk("switch");
    let second = folder("switch-other");
    let handle = broker.handle();
    let mut worker = connect(&broker);
    let id = worker.call("PUSH", json!({"queue": "first", "data": 1}))["id"].clone();
    assert_eq!(worker.call("PULL", json!({"queue": "first", "owner": "w"}))["job"]["id"], id);
    let before = handle.view(|core| (core.revision, core.activity.newest_seq())).await.unwrap();
    handle.open_data(DataPlace::Folder(second.clone())).await.unwrap();
    assert_eq!(worker.read(), None, "connections are closed as by a restart");
    assert_eq!(handle.data_file(), second.join("onceover.db"));
    let mut client = connect(&broker);
    assert_eq!(client.call("Count", json!({"queue": "first"}))["count"], 0);
    assert_eq!(client.call("PUSH", json!({"queue": "second", "data": 1}))["ok"], true);
    let after = handle.view(|core| (core.revision, core.activity.newest_seq(), core.activity.dropped())).await.unwrap();
    assert!(after.0 > before.0 && (after.1, after.2) == (before.1 + 1, 0), "{before:?} {after:?}");
    let known = handle.view(|core| core.connections.connected_ever()).await.unwrap();
    assert_eq!(known, 2, "who was ever connected is still known");
    handle.open_data(DataPlace::Folder(first.clone())).await.unwrap();
    let job = connect(&broker).call("GetJob", json!({"id": id}))["job"].clone();
    assert_eq!((&job["attempts"], job["startedAt"].is_null()), (&json!(0), true), "it went back, for free: {job}");
    assert_eq!(connect(&broker).call("Count", json!({"queue": "second"}))["count"], 0);
    broker.stop();
    [first, second].iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
}

#[tokio::test]
async fn data_that_cannot_be_used_changes_nothing() {
    let (broker, first) = on_disk("refused");
    let (other, taken) = on_disk("refused-taken");
    let handle = broker.handle();
    let mut client = connect(&broker);
    assert_eq!(client.call("PUSH", json!({"queue": "q", "data": 1}))["ok"], true);
    let diary = first.join("diary.txt");
    std::fs::write(&diary, "dear diary").unwrap();
    let refused = handle.open_data(DataPlace::File(diary.clone())).await;
    assert!(matches!(refused, Err(DataError::Open(StartError::Data(_)))), "{refused:?}");
    let refused = handle.open_data(DataPlace::Folder(taken.clone())).await;
    assert!(matches!(refused, Err(DataError::Open(StartError::DataInUse(_)))), "{refused:?}");
    handle.open_data(DataPlace::File(first.join("onceover.db"))).await.expect("what is open stays open");
    assert_eq!(client.call("Count", json!({"queue": "q"}))["count"], 1, "nobody was disconnected");
    assert_eq!(std::fs::read_to_string(diary).unwrap(), "dear diary");
    drop((broker, other));
    assert!(matches!(handle.open_data(DataPlace::temporary()).await, Err(DataError::Down(_))));
    [first, taken].iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
}

#[tokio::test]
async fn a_temporary_place_is_gone_afterwards() {
    let (broker, first) = on_disk("temporary");
    let handle = broker.handle();
    let mut gone = Vec::new();
    for _ in 0..2 {
        handle.open_data(DataPlace::temporary()).await.unwrap();
        gone.push(handle.data_file());
        assert!(gone.iter().all(|file| file.exists() == (*file == handle.data_file())), "{gone:?}");
        assert_eq!(connect(&broker).call("PUSH", json!({"queue": "q", "data": 1}))["ok"], true);
    }
    broker.stop();
    assert!(gone.iter().all(|file| !file.parent().unwrap().exists()), "{gone:?}");
    std::fs::remove_dir_all(first).unwrap();
}

/// Clients add all the time while the data changes to and fro: what was acknowledged is in one of the two.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_when_the_data_changes_under_load() {
    let (broker, first) = on_disk("load");
    let second = folder("load-other");
    let (handle, address) = (broker.handle(), addr(&broker));
    let producers: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                let (mut acknowledged, mut closed) = (0, 0);
                while closed < 6 {
                    let mut client = Client::new(address);
                    let push = client.frame("PUSH", json!({"queue": "q", "data": {}}));
                    while client.try_raw(&push) {
                        let Some(answer) = client.read() else { break };
                        assert_eq!(answer["ok"], true, "{answer}");
                        acknowledged += 1;
                    }
                    closed += 1;
                }
                acknowledged
            })
        })
        .collect();
    for turn in 0.. {
        if producers.iter().all(std::thread::JoinHandle::is_finished) {
            break;
        }
        let place = if turn % 2 == 0 { &second } else { &first };
        handle.open_data(DataPlace::Folder(place.clone())).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let acknowledged: i64 = producers.into_iter().map(|producer| producer.join().unwrap()).sum();
    let mut stored = 0;
    for place in [&first, &second] {
        handle.open_data(DataPlace::Folder(place.clone())).await.unwrap();
        stored += connect(&broker).call("Count", json!({"queue": "q"}))["count"].as_i64().unwrap();
    }
    assert!(acknowledged > 0 && stored >= acknowledged, "{stored} stored, {acknowledged} acknowledged");
    broker.stop();
    [first, second].iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
}
