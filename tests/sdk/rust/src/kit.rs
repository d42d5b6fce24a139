//! What the checks share: fresh names, a queue and a worker that close themselves, waiting with a deadline, raw commands.

use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use bunqueue_client::{
    ConnectionOptions, Deduplication, Job, JobOptions, Message, ProcessError, Queue, Value, Worker, WorkerOptions,
};

/// How to reach the broker under test; the port is the program's only argument.
pub fn broker() -> ConnectionOptions {
    let port = std::env::args().nth(1).and_then(|text| text.parse().ok());
    ConnectionOptions {
        host: "127.0.0.1".into(),
        port: port.expect("the port is the only argument"),
        ..Default::default()
    }
}

/// A name that no other check or run uses.
pub fn fresh(word: &str) -> String {
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("the clock is past 1970");
    format!("{word}-{:x}", since.as_nanos())
}

/// A payload `{"n": n}`.
pub fn number(n: i64) -> Value {
    Value::Map(vec![("n".into(), n.into())])
}

/// The `n` of such a payload.
pub fn number_of(job: &Job) -> i64 {
    let data = job.data();
    let entries = data.as_map().expect("the payload is a map");
    let found = entries.iter().find(|(key, _)| key.as_str() == Some("n"));
    found.and_then(|(_, value)| value.as_i64()).expect("the payload has an n")
}

/// Options of an add with a key.
pub fn keyed(id: &str, ttl: Option<i64>, extend: bool, replace: bool) -> JobOptions {
    let flag = |set: bool| set.then_some(true);
    let deduplication = Deduplication { id: id.into(), ttl, extend: flag(extend), replace: flag(replace) };
    JobOptions { deduplication: Some(deduplication), ..Default::default() }
}

/// A queue with a fresh name.
pub fn queue() -> (Queue, String) {
    let name = fresh("rust");
    (Queue::new(name.clone(), broker()), name)
}

/// A worker in a thread of its own; it stops when this is dropped.
pub struct Working {
    worker: Worker,
    thread: Option<JoinHandle<()>>,
}

impl Working {
    /// Starts a worker with one job at a time.
    pub fn start(queue: &str, processor: impl Fn(Job) -> Result<Value, ProcessError> + Send + Sync + 'static) -> Self {
        let options = WorkerOptions {
            connection: broker(),
            concurrency: 1,
            batch_size: 1,
            poll_timeout_ms: 300,
            ..Default::default()
        };
        let worker = Worker::new(queue, processor, options);
        let running = worker.clone();
        let thread = std::thread::spawn(move || {
            let _ = running.run();
        });
        Self { worker, thread: Some(thread) }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.worker.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.worker.close();
    }
}

/// Waits until a condition holds, at most ten seconds.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < end, "{what}: did not happen in time");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a command that the client has no method for and returns one field of the answer's `data`.
pub fn data_of(command: &[(&str, &str)], field: &str) -> Value {
    let message: Message = command.iter().map(|(key, value)| ((*key).into(), Value::from(*value))).collect();
    let connection = bunqueue_client::Connection::new(broker());
    let answer = connection.call(message).expect("the command is answered");
    let data = answer.iter().find(|(key, _)| key.as_str() == Some("data")).map(|(_, value)| value.clone());
    let Some(Value::Map(entries)) = data else { panic!("no data in the answer") };
    let found = entries.into_iter().find(|(key, _)| key.as_str() == Some(field));
    found.map(|(_, value)| value).unwrap_or(Value::Nil)
}
