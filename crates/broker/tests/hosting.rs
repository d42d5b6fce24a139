//! A broker as its host sees it: listening, asking, acting, hints.

mod kit;

use kit::{connect, start};
use onceover_broker::{Broker, BrokerConfig, BrokerDown, BrokerStatus, CoreView, DataPlace, ListenError, StartError};
use onceover_engine::command::Command;
use onceover_engine::reply::Reply;
use onceover_store::SimDisk;
use serde_json::json;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

/// A broker that does not listen yet.
fn open() -> Broker {
    let config = BrokerConfig::new(DataPlace::Folder("simulated".into()));
    let store = SimDisk::default().open().expect("a new disk is free");
    Broker::with_storage(config, store, "simulated".into()).expect("an empty disk can be used")
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[test]
fn a_taken_port_is_told_and_another_one_can_be_tried() {
    let broker = open();
    let wanted = local(6789);
    assert_eq!(broker.handle().status(), BrokerStatus::NotListening { wanted, error: None });
    let other_program = TcpListener::bind(local(0)).unwrap();
    let taken = other_program.local_addr().unwrap();
    let error = broker.listen(taken).unwrap_err();
    let ListenError::InUse { addr, free: Some(free) } = error else { panic!("{error}") };
    assert!(addr == taken && free != taken.port());
    assert!(error.to_string().contains("in use"), "{error}");
    assert_eq!(broker.handle().status(), BrokerStatus::NotListening { wanted: taken, error: Some(error) });
    let bound = broker.listen(local(0)).unwrap();
    assert_eq!(broker.handle().status(), BrokerStatus::Listening { addr: bound });
    assert_eq!(broker.listen(bound), Ok(bound), "it is open already");
    assert_eq!(connect(&broker).call("Ping", json!({}))["ok"], true);
    assert!(broker.listen(taken).is_err());
    assert_eq!(broker.handle().status(), BrokerStatus::Listening { addr: bound }, "what was open stays open");
}

#[test]
fn other_machines_are_let_in_only_with_a_token() {
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    assert_eq!(open().listen(everywhere), Err(ListenError::NeedsToken { addr: everywhere }));
    assert!(start(&SimDisk::default(), &["token"]).listen(everywhere).is_ok());
}

#[test]
fn a_file_has_one_broker() {
    let folder = std::env::temp_dir().join(format!("onceover-hosting-{}", std::process::id()));
    let config = BrokerConfig { port: 0, ..BrokerConfig::new(DataPlace::Folder(folder.clone())) };
    let first = Broker::start(config.clone()).unwrap();
    assert_eq!(first.handle().data_file(), folder.join("onceover.db"));
    assert!(matches!(Broker::start(config.clone()), Err(StartError::DataInUse(_))));
    first.stop();
    drop(Broker::start(config).unwrap());
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn the_window_acts_asks_and_is_told() {
    let broker = open();
    let handle = broker.handle();
    let mut changes = handle.changes();
    let reply = handle.act(Command::Pause { queue: "q".into() }).await;
    assert!(matches!(reply, Ok(Reply::Ok)), "{reply:?}");
    tokio::time::timeout(Duration::from_secs(10), changes.changed()).await.unwrap().unwrap();
    let told = *changes.borrow_and_update();
    let (revision, paused) = handle.view(|core| (core.revision, core.engine.queues()[0].paused)).await.unwrap();
    assert!(revision >= told && paused);
}

#[tokio::test]
async fn data_that_another_client_writes_differently_are_the_same_data() {
    let broker = open();
    broker.listen(local(0)).unwrap();
    let mut client = connect(&broker);
    for (data, different) in [(json!({"n": 5}), 0), (json!({"n": 5.0}), 0), (json!({"n": 6}), 1)] {
        client.call("PUSH", json!({"queue": "q", "uniqueKey": "k", "data": data}));
        let count = |core: &CoreView<'_>| core.engine.key("q", "k", core.now).unwrap().tally().data_differs;
        assert_eq!(broker.handle().view(count).await, Ok(different), "{data}");
    }
}

#[tokio::test]
async fn a_fault_in_a_question_does_not_stop_the_broker() {
    let broker = open();
    let handle = broker.handle();
    let failed = handle.view(|core| assert!(core.revision == u64::MAX, "on purpose")).await;
    assert!(matches!(failed, Err(BrokerDown::Failed { .. })), "{failed:?}");
    assert_eq!(handle.view(|_| 7).await, Ok(7));
}

#[tokio::test]
async fn a_stopped_broker_says_so() {
    let broker = open();
    let handle = broker.handle();
    broker.stop();
    assert_eq!(handle.status(), BrokerStatus::Stopped);
    assert_eq!(handle.view(|_| ()).await, Err(BrokerDown::Stopped));
    assert!(matches!(handle.act(Command::ListQueues).await, Err(BrokerDown::Stopped)));
    assert_eq!(handle.listen(local(0)), Err(ListenError::Ended { addr: local(0) }));
}
