//! One Rust program among those that share a queue: adds jobs, or works them, through the official client.
//!
//! `add PORT QUEUE` reads a JSON list of `{name, data}` and answers with `{id, result}` for each.
//! `work PORT QUEUE FILE NAME OPTIONS` works until its input ends; what the file gets is told in `tests/kit/peers.py`.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write, stdin};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use bunqueue_client::{
    ConnectionOptions, Job, JobOptions, ProcessError, Queue, TlsOptions, Value, Worker, WorkerOptions, json_to_value,
};
use serde_json::{Value as Json, json};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["add", port, queue] => add(connection(port), queue),
        ["work", port, queue, file, name, options] => work(connection(port), queue, file, name, options),
        _ => panic!("neither add nor work with their arguments"),
    }
}

fn connection(port: &str) -> ConnectionOptions {
    let set = |name| std::env::var(name).ok();
    ConnectionOptions {
        host: "127.0.0.1".into(),
        port: port.parse().expect("a port"),
        token: set("PEER_TOKEN"),
        tls: set("PEER_CA").map(|file| TlsOptions { ca_file: Some(file.into()) }),
        ..Default::default()
    }
}

fn input() -> String {
    let mut text = String::new();
    stdin().read_to_string(&mut text).expect("the input is text");
    text
}

fn add(connection: ConnectionOptions, name: &str) {
    let queue = Queue::new(name, connection);
    let wanted: Vec<Json> = serde_json::from_str(&input()).expect("a JSON list");
    let add = |job: &Json| {
        let name = job["name"].as_str().expect("a job has a name");
        queue.add(name, json_to_value(job["data"].clone()), JobOptions::default()).expect("the job is added").id()
    };
    let ids: Vec<String> = wanted.iter().map(add).collect();
    let wait = |id: &String| json!({"id": id, "result": plain(&queue.wait_for_job(id, 20_000).expect("the job ends"))});
    println!("{}", Json::Array(ids.iter().map(wait).collect()));
}

fn work(connection: ConnectionOptions, queue: &str, path: &str, own: &str, options: &str) {
    let file = OpenOptions::new().append(true).create(true).open(path).expect("the file opens");
    let told = Mutex::new(file);
    let options: Json = serde_json::from_str(options).expect("options in JSON");
    let number = |name: &str| options[name].as_u64().expect("options are numbers");
    let by = own.to_owned();
    let settings = WorkerOptions {
        connection,
        concurrency: number("concurrency") as usize,
        batch_size: number("concurrency") as usize,
        poll_timeout_ms: 1_000,
        lock_ttl_ms: number("lock_ms") as i64,
        heartbeat_interval: Some(Duration::from_millis(number("heartbeat_ms"))),
        name: Some(own.to_owned()),
    };
    let worker = Worker::new(queue, move |job| process(&told, &by, &job), settings);
    let running = worker.clone();
    let thread = std::thread::spawn(move || running.run());
    input();
    worker.stop();
    let _ = thread.join();
    worker.close();
}

fn process(file: &Mutex<File>, by: &str, job: &Job) -> Result<Value, ProcessError> {
    let started = job.raw().iter().find(|(key, _)| key.as_str() == Some("startedAt"));
    let at = started.and_then(|(_, value)| value.as_f64());
    let data = plain(&job.data());
    let tell = |mut line: Json| {
        let since = SystemTime::UNIX_EPOCH.elapsed().expect("the clock is past 1970");
        line["by"] = by.into();
        line["job"] = job.id().into();
        line["at"] = at.into();
        line["t"] = (since.as_secs_f64() * 1000.0).into();
        let mut file = file.lock().expect("nobody panics while writing");
        file.write_all(format!("{line}\n").as_bytes()).expect("the file is written");
    };
    tell(json!({"what": "start", "name": job.name(), "data": data}));
    std::thread::sleep(Duration::from_millis(data["ms"].as_u64().unwrap_or(0)));
    let fatal = data["fatal"].as_bool().unwrap_or(false);
    if fatal || job.attempts_made() < data["fails"].as_i64().unwrap_or(0) {
        tell(json!({"what": "end", "how": "threw"}));
        let failed = if fatal { ProcessError::unrecoverable } else { ProcessError::retryable };
        return Err(failed("as asked"));
    }
    tell(json!({"what": "end", "how": "done"}));
    Ok(json_to_value(json!({"by": by, "at": at, "echo": data["echo"]})))
}

/// A value as JSON. The client's own conversion puts every text between quotation marks.
fn plain(value: &Value) -> Json {
    match value {
        Value::Nil | Value::Ext(..) | Value::Binary(_) => Json::Null,
        Value::Boolean(value) => json!(value),
        Value::Integer(value) => value.as_i64().map_or_else(|| json!(value.as_u64()), |value| json!(value)),
        Value::F32(value) => json!(value),
        Value::F64(value) => json!(value),
        Value::String(text) => json!(text.as_str()),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Map(entries) => {
            let pairs = entries.iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), plain(value))));
            Json::Object(pairs.collect())
        }
    }
}
