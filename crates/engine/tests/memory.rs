//! Bytes per waiting job and per live key, counted where memory is asked for.
//!
//! What the allocator itself adds (about 16 bytes an allocation, of which a job has one or two) and the log of adds come on top;
//! `onceover-bench scale` measures the whole process.

use onceover_engine::command::{Add, Command, DedupRequest, NewJob};
use onceover_engine::effects::Effects;
use onceover_engine::names::Origin;
use onceover_engine::time::{Millis, Timestamp};
use onceover_engine::{Engine, EngineConfig};
use peak_alloc::PeakAlloc;
use std::sync::Arc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const MANY: usize = 100_000;
const NOW: Timestamp = Timestamp(1_700_000_000_000);
const PAYLOAD: [u8; 100] = [b'x'; 100];

/// A waiting job, with its payload of 100 bytes.
const JOB_BYTES_MAX: usize = 400;
/// What a key with a window adds to its owner, if its text is short.
const KEY_BYTES_MAX: usize = 150;
/// What is kept of a job that is gone: places in indexes, for the next ones.
const REST_BYTES_MAX: usize = 40;

fn fill(engine: &mut Engine, with_key: bool) {
    let dedup = DedupRequest { ttl: with_key.then_some(Millis(3_600_000)), ..DedupRequest::default() };
    for batch in 0..MANY / 1_000 {
        let add = |at: usize| Add {
            dedup_key: with_key.then(|| Arc::from(format!("user-{:06}", batch * 1_000 + at))),
            data: Some(Arc::from(PAYLOAD)),
            // Every add of a client brings a request of its own.
            ..Add::new(NewJob { dedup: dedup.clone(), ..NewJob::new("queue", "job") })
        };
        run(engine, Command::PushBulk { adds: (0..1_000).map(add).collect() });
    }
}

fn run(engine: &mut Engine, command: Command) {
    let mut effects = Effects::default();
    engine.tick(NOW, &mut effects);
    engine.handle(NOW, Origin::Internal, command, &mut effects);
    engine.committed();
}

/// Bytes a job takes while it waits, and what is left of it afterwards.
fn bytes_per_job(with_key: bool) -> (usize, usize) {
    let before = HEAP.current_usage();
    let mut engine = Engine::new(EngineConfig::default(), 1);
    fill(&mut engine, with_key);
    let full = (HEAP.current_usage() - before) / MANY;
    run(&mut engine, Command::Drain { queue: Arc::from("queue") });
    // It goes on in parts, each due at once.
    while engine.next_deadline().is_some_and(|due| due.is_due(NOW)) {
        engine.tick(NOW, &mut Effects::default());
        engine.committed();
    }
    let rest = (HEAP.current_usage() - before) / MANY;
    drop(engine);
    (full, rest)
}

/// One test, because all of a program count together.
#[test]
fn a_job_and_a_key_take_so_many_bytes() {
    let (job, rest) = bytes_per_job(false);
    let (keyed, _) = bytes_per_job(true);
    println!("a job: {job} bytes, {rest} when it is gone; a key: {} bytes", keyed - job);
    assert!(job <= JOB_BYTES_MAX, "a waiting job takes {job} bytes");
    assert!(keyed - job <= KEY_BYTES_MAX, "a key takes {} bytes", keyed - job);
    assert!(rest <= REST_BYTES_MAX, "a job that is gone still takes {rest} bytes");
}
