// A first program for each SDK: two adds with the same key, of which the second makes no job.
// Shown on Start. They name the host and port that the broker really has.

export interface Snippet {
  id: string;
  label: string;
  install: string;
  code: string;
}

export function snippets(host: string, port: number): Snippet[] {
  return [
    {
      id: 'typescript',
      label: 'TypeScript',
      install: 'bun add bunqueue',
      code: `import { Queue } from 'bunqueue/client';

const queue = new Queue('emails', { connection: { host: '${host}', port: ${port} } });
const once = { deduplication: { id: 'user-42', ttl: 60000 } };
const first = await queue.add('welcome', { user: 42 }, once);
const again = await queue.add('welcome', { user: 42 }, once);
console.log(first.id === again.id); // true: one job`,
    },
    {
      id: 'python',
      label: 'Python',
      install: 'pip install bunqueue-client',
      code: `from bunqueue import Queue

queue = Queue("emails", host="${host}", port=${port})
once = {"id": "user-42", "ttl": 60000}
first = queue.add("welcome", {"user": 42}, deduplication=once)
again = queue.add("welcome", {"user": 42}, deduplication=once)
print(first.id == again.id)  # True: one job`,
    },
    {
      id: 'rust',
      label: 'Rust',
      install: 'cargo add bunqueue-client',
      code: `use bunqueue_client::{ConnectionOptions, Deduplication, JobOptions, Queue, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let connection = ConnectionOptions { host: "${host}".into(), port: ${port}, ..Default::default() };
    let queue = Queue::new("emails", connection);
    let once = Deduplication { id: "user-42".into(), ttl: Some(60_000), ..Default::default() };
    let options = JobOptions { deduplication: Some(once), ..Default::default() };
    let first = queue.add("welcome", Value::from(42), options.clone())?;
    let again = queue.add("welcome", Value::from(42), options)?;
    println!("{}", first.id() == again.id()); // true: one job
    Ok(())
}`,
    },
  ];
}
