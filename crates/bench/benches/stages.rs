//! The stages of an add, each alone: `cargo bench --package onceover-bench`. For finding out, not for judging; what guards
//! against dearer code are the instruction counts of `tests/budget/instructions.py`.

use bytes::BytesMut;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use onceover_bench::server::Data;
use onceover_bench::work::data;
use onceover_engine::command::Command;
use onceover_engine::effects::Effects;
use onceover_engine::names::{JobId, Origin};
use onceover_engine::reply::{Added, Reply};
use onceover_engine::time::Timestamp;
use onceover_engine::{Engine, EngineConfig};
use onceover_store::{SqliteStore, Storage};
use onceover_wire::decode::decode;
use onceover_wire::encode::{EncodeCtx, encode_reply};
use onceover_wire::msgpack::write::MapWriter;
use onceover_wire::request::Request;

/// Adds of a turn, as four pipelining clients make it.
const TURN: usize = 128;
const NOW: Timestamp = Timestamp(1_700_000_000_000);

fn main() {
    divan::main();
}

/// The payload of a PUSH frame with 100 bytes of data, and with a key when there is one.
fn request(key: Option<&str>) -> BytesMut {
    let mut out = BytesMut::new();
    let mut map = MapWriter::begin(&mut out);
    for (name, text) in [("cmd", "PUSH"), ("reqId", "17"), ("queue", "bench"), ("name", "task")] {
        map.str(name, text);
    }
    data(map.key("data"), 1, &[b'x'; 100]);
    if let Some(key) = key {
        map.str("uniqueKey", key);
        map.map("dedup").int("ttl", 60_000);
    }
    drop(map);
    out
}

fn command(key: Option<&str>) -> Command {
    match decode(&request(key)).result {
        Ok(Request::Engine(command)) => command,
        other => panic!("an add became {other:?}"),
    }
}

fn add(engine: &mut Engine, command: Command, effects: &mut Effects) {
    engine.handle(NOW, Origin::Internal, command, effects);
}

#[divan::bench]
fn decode_add(bencher: Bencher<'_, '_>) {
    let request = request(None);
    bencher.bench(|| decode(black_box(&request)));
}

#[divan::bench]
fn decode_add_with_key(bencher: Bencher<'_, '_>) {
    let request = request(Some("user-17"));
    bencher.bench(|| decode(black_box(&request)));
}

/// New jobs are rare here, so that the engine does not fill: a repeat of a key, with everything that is noted of it.
#[divan::bench]
fn decide_repeat(bencher: Bencher<'_, '_>) {
    let (mut engine, mut effects) = (Engine::new(EngineConfig::default(), 1), Effects::default());
    add(&mut engine, command(Some("user-17")), &mut effects);
    engine.committed();
    bencher.with_inputs(|| command(Some("user-17"))).bench_local_values(|command| {
        let mut effects = Effects::default();
        add(&mut engine, command, &mut effects);
        effects
    });
}

#[divan::bench]
fn decide_new_and_cancel(bencher: Bencher<'_, '_>) {
    let mut engine = Engine::new(EngineConfig::default(), 1);
    bencher.with_inputs(|| command(None)).bench_local_values(|command| {
        let mut effects = Effects::default();
        add(&mut engine, command, &mut effects);
        let id = effects.adds[0].decision.job.clone().expect("a new job stands for the add");
        engine.handle(NOW, Origin::Internal, Command::Cancel { id }, &mut effects);
        engine.committed();
        effects
    });
}

/// A turn's commit to SQLite, of new jobs.
#[divan::bench(sample_count = 50)]
fn commit_turn_of_adds(bencher: Bencher<'_, '_>) {
    let folder = Data::new().expect("a temporary folder can be made");
    let mut store = SqliteStore::open(&folder.path().join("bench.db")).expect("a new file can be made");
    let engine = std::cell::RefCell::new(Engine::new(EngineConfig::default(), 1));
    let fill = || {
        let mut effects = Effects::default();
        (0..TURN).for_each(|_| add(&mut engine.borrow_mut(), command(None), &mut effects));
    };
    bencher.counter(ItemsCount::new(TURN)).with_inputs(fill).bench_local_values(|()| {
        store.commit(&engine.borrow(), false).expect("the file can be written");
        engine.borrow_mut().committed();
    });
}

#[divan::bench]
fn encode_added(bencher: Bencher<'_, '_>) {
    let reply = Reply::Added(Added {
        id: JobId::parse("0198c0de-0000-7000-8000-000000000001"),
        duplicate: None,
        replaced: None,
    });
    let req_id = decode(&request(None)).req_id;
    let mut out = BytesMut::with_capacity(1 << 20);
    bencher.bench_local(|| {
        out.clear();
        encode_reply(&mut out, req_id.as_ref(), black_box(&reply), EncodeCtx { protocol2: false });
    });
}
