// An add as a program of each client, and as the raw command. Only options that differ from the defaults; what a client cannot
// express gets a line that says so.
import type { NewAdd } from '../bindings/NewAdd';
import { literal, parseLiteral, type Literal } from './literal';
import { GO, PHP, PYTHON, RUST, rustString, TYPESCRIPT, unsaid, write, type Writer } from './writers';

export type Language = 'typescript' | 'python' | 'rust' | 'php' | 'go' | 'raw';

export const LANGUAGES: { id: Language; label: string }[] = [
  { id: 'typescript', label: 'TypeScript' },
  { id: 'python', label: 'Python' },
  { id: 'rust', label: 'Rust' },
  { id: 'php', label: 'PHP' },
  { id: 'go', label: 'Go' },
  { id: 'raw', label: 'JSON' },
];

export interface Place {
  host: string;
  port: number;
}

/** The add as a program. Throws a `SyntaxError` when its payload is not JSON. */
export function codeFor(language: Language, add: NewAdd, place: Place): string {
  switch (language) {
    case 'typescript':
      return typescript(add, place);
    case 'python':
      return python(add, place);
    case 'rust':
      return rust(add, place);
    case 'php':
      return php(add, place);
    case 'go':
      return go(add, place);
    case 'raw':
      return commandText(add);
  }
}

type Options = Record<string, unknown>;

/** Leaves out what is not given, so that a program names only what differs. */
const some = <T>(value: T | null | undefined | false | ''): T | undefined => value || undefined;
const list = (values: string[]) => (values.length > 0 ? values : undefined);
const number = (value: number | null) => value ?? undefined;

/** The wire's command without its payload, in the order in which a reader looks. */
function wireOptions(add: NewAdd): Options {
  const dedup = {
    key: some(add.dedupId),
    hash: some(add.dedupHash),
    ttl: number(add.ttlMs),
    extend: some(add.extend),
    replace: some(add.replace),
    keepLastIfActive: some(add.keepLastIfActive),
  };
  return {
    jobId: some(add.jobId),
    dedup: Object.values(dedup).some((value) => value !== undefined) ? dedup : undefined,
    delay: number(add.delayMs),
    priority: number(add.priority),
    maxAttempts: number(add.attempts),
    backoff: backoff(add),
    timeout: number(add.timeoutMs),
    ttl: number(add.jobTtlMs),
    stallTimeout: number(add.stallTimeoutMs),
    lifo: some(add.lifo),
    durable: some(add.durable),
    removeOnComplete: some(add.removeOnComplete),
    removeOnFail: some(add.removeOnFail),
    tags: list(add.tags),
    dependsOn: list(add.dependsOn),
    parentId: some(add.parentId),
    childrenIds: list(add.childrenIds),
    groupId: some(add.groupId),
    groupMaxSize: number(add.groupMaxSize),
    repeat: repeat(add),
    timestamp: number(add.timestamp),
    stackTraceLimit: number(add.stackTraceLimit),
    keepLogs: number(add.keepLogs),
    sizeLimit: number(add.sizeLimit),
    debounceId: some(add.debounceId),
    debounceTtl: number(add.debounceTtl),
    failParentOnFailure: some(add.failParentOnFailure),
    removeDependencyOnFailure: some(add.removeDependencyOnFailure),
    continueParentOnFailure: some(add.continueParentOnFailure),
    ignoreDependencyOnFailure: some(add.ignoreDependencyOnFailure),
  };
}

function backoff(add: NewAdd): unknown {
  if (!add.backoff) return undefined;
  return add.backoff.kind ? { type: add.backoff.kind, delay: add.backoff.delayMs } : add.backoff.delayMs;
}

function repeat(add: NewAdd): Options | undefined {
  if (!add.repeat) return undefined;
  const { everyMs, pattern, tz, startDate, endDate, limit, count, offsetMs, jobId } = add.repeat;
  return {
    every: number(everyMs),
    pattern: some(pattern),
    tz: some(tz),
    startDate: number(startDate),
    endDate: number(endDate),
    limit: number(limit),
    count: count || undefined,
    offset: number(offsetMs),
    jobId: some(jobId),
  };
}

/** The raw command. The payload stands in it as it was written, so that nothing is rounded. */
export function commandText(add: NewAdd): string {
  const command = {
    cmd: 'PUSH',
    queue: add.queue,
    name: some(add.name),
    data: undefined as unknown,
    ...wireOptions(add),
  };
  const members = Object.entries(command)
    .filter(([name, value]) => value !== undefined || (name === 'data' && add.dataText?.trim()))
    .map(([name, value]) => {
      const text = name === 'data' ? (add.dataText ?? '').trim() : JSON.stringify(value, null, 2);
      return `  ${JSON.stringify(name)}: ${text.replace(/\n/g, '\n  ')}`;
    });
  return `{\n${members.join(',\n')}\n}`;
}

/** What a client takes: the wire's options under the names that clients have for them. */
function clientOptions(add: NewAdd): Options {
  const { dedup, maxAttempts, debounceId, debounceTtl, ...rest } = wireOptions(add);
  const { key, ...window } = (dedup ?? {}) as Options;
  return {
    ...rest,
    deduplication: dedup === undefined ? undefined : { id: key, ...window },
    attempts: maxAttempts,
    debounce: debounceId || debounceTtl !== undefined ? { id: debounceId, ttl: debounceTtl } : undefined,
  };
}

/** Takes out what a client has no option for, by its name on the wire. */
function without(options: Options, missing: string[]): { kept: Options; said: string[] } {
  const said: string[] = [];
  const kept: Options = {};
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (missing.includes(name)) {
      said.push(`${name}: ${JSON.stringify(value)}`);
      continue;
    }
    if (name !== 'deduplication') {
      kept[name] = value;
      continue;
    }
    const { id, hash, keepLastIfActive, ...window } = value as Options;
    if (hash) said.push('deduplication.hash: true');
    if (keepLastIfActive) said.push('deduplication.keepLastIfActive: true');
    if (id !== undefined) kept.deduplication = { id, ...window };
    else if (!hash) said.push(`deduplication without an id: ${JSON.stringify(window)}`);
  }
  return { kept, said };
}

function dataOf(add: NewAdd): Literal | null {
  return add.dataText?.trim() ? parseLiteral(add.dataText) : null;
}

/** The lines about what the program leaves out. */
function remarks(comment: string, said: string[], data: Literal | null, more: string[] = []): string {
  const lines = said.map((option) => `This client has no option for ${option}`);
  if (data)
    lines.push(...unsaid(data).map((text) => `This part of the data has no simple form here: ${oneLine(text)}`));
  return [...lines, ...more].map((line) => `${comment} ${line}\n`).join('');
}

const oneLine = (text: string) => text.replace(/\s+/g, ' ').slice(0, 200);
const nameOf = (add: NewAdd) => add.name || 'default';
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What the clients of protocol 2 do with data: they put the name into it, and send great integers as floats. */
function protocol2(data: Literal | null): string[] {
  const taken = data?.kind === 'object' && data.members.some(([name]) => name === 'name');
  const said = taken ? [`This client puts the job's name into the data, where the member "name" takes its place`] : [];
  const rounded = data ? greatIntegers(data) : [];
  return [
    ...said,
    ...rounded.map((text) => `This client sends great integers as floating-point numbers: ${text} is rounded`),
  ];
}

/** Integers that a float cannot hold exactly. */
function greatIntegers(value: Literal): string[] {
  if (value.kind === 'number') return /^-?\d+$/.test(value.text) && !isExact(value.text) ? [value.text] : [];
  if (value.kind === 'list') return value.items.flatMap(greatIntegers);
  return value.kind === 'object' ? value.members.flatMap(([, member]) => greatIntegers(member)) : [];
}

const isExact = (integer: string) => BigInt(Number(integer)) === BigInt(integer);

function typescript(add: NewAdd, { host, port }: Place): string {
  const options = clientOptions(add);
  const group = options.groupId === undefined ? undefined : { id: options.groupId, maxSize: options.groupMaxSize };
  const missing = ['ttl', 'tags', 'dependsOn', 'parentId', 'childrenIds'];
  const debounce = options.debounce as Options | undefined;
  if (debounce && (debounce.id === undefined || debounce.ttl === undefined)) missing.push('debounce');
  const { kept, said } = without({ ...options, groupId: undefined, groupMaxSize: undefined, group }, missing);
  const data = dataOf(add);
  const text = (value: string) => JSON.stringify(value);
  const rest = Object.keys(kept).length > 0 ? `, ${write(TYPESCRIPT, literal(kept))}` : '';
  return `import { Queue } from 'bunqueue/client';

${remarks('//', said, data)}const queue = new Queue(${text(add.queue)}, { connection: { host: ${text(host)}, port: ${port} } });
const job = await queue.add(${text(nameOf(add))}, ${data ? write(TYPESCRIPT, data) : 'undefined'}${rest});
console.log(job.id);
await queue.close();
`;
}

function python(add: NewAdd, { host, port }: Place): string {
  const { kept, said } = without(clientOptions(add), ['groupMaxSize']);
  const data = dataOf(add);
  const text = (value: string) => JSON.stringify(value);
  const named = Object.entries(kept).map(([name, value]) => `${snake(name)}=${write(PYTHON, literal(value), '    ')}`);
  const args = [text(nameOf(add)), data ? write(PYTHON, data, '    ') : 'None', ...named];
  const call = args.map((argument) => `    ${argument},\n`).join('');
  const body = `${remarks('#', said, data, protocol2(data))}queue = Queue(${text(add.queue)}, host=${text(host)}, port=${port})
job = queue.add(
${call})
print(job.id)
queue.close()
`;
  return `${body.includes('base64.b64decode') ? 'import base64\n\n' : ''}from bunqueue import Queue\n\n${body}`;
}

/** The Rust client's fields are typed, so each option has its own form. */
function rust(add: NewAdd, { host, port }: Place): string {
  const { kept, said } = without(clientOptions(add), ['groupMaxSize']);
  const data = dataOf(add);
  const fields: string[] = [];
  const used = new Set(['ConnectionOptions', 'JobOptions', 'Queue', 'Value']);
  const strings = (values: unknown) =>
    `vec![${(values as string[]).map((value) => `${rustString(value)}.into()`).join(', ')}]`;
  for (const [name, value] of Object.entries(kept)) {
    switch (name) {
      case 'deduplication': {
        used.add('Deduplication');
        fields.push(`deduplication: Some(${deduplication(value as Options)})`);
        break;
      }
      case 'backoff':
        used.add('Backoff');
        fields.push(`backoff: Some(${rustBackoff(value as number | { type: string; delay: number })})`);
        break;
      case 'debounce': {
        const { id, ttl } = value as { id?: string; ttl?: number };
        if (id !== undefined) fields.push(`debounce_id: Some(${rustString(id)}.into())`);
        if (ttl !== undefined) fields.push(`debounce_ttl: Some(${Math.round(ttl)})`);
        break;
      }
      case 'repeat':
        fields.push(`repeat: Some(${write(RUST, literal(value))})`);
        break;
      case 'keepLogs':
      case 'sizeLimit':
        if (Number.isInteger(value)) fields.push(`${snake(name)}: Some(${value as number})`);
        else said.push(`${name}: ${value as number}`);
        break;
      case 'tags':
      case 'dependsOn':
      case 'childrenIds':
        fields.push(`${snake(name)}: ${strings(value)}`);
        break;
      default:
        fields.push(
          `${snake(name)}: Some(${typeof value === 'string' ? `${rustString(value)}.into()` : String(value)})`,
        );
    }
  }
  const options = [...fields, '..Default::default()'].map((field) => `        ${field}`).join(',\n');
  return `use bunqueue_client::{${[...used].sort().join(', ')}};

fn main() -> Result<(), Box<dyn std::error::Error>> {
${remarks('    //', said, data, protocol2(data))}    let connection = ConnectionOptions { host: ${rustString(host)}.into(), port: ${port}, ..Default::default() };
    let queue = Queue::new(${rustString(add.queue)}, connection);
    let data = ${data ? write(RUST, data, '    ') : 'Value::Nil'};
    let options = JobOptions {
${options}
    };
    let job = queue.add(${rustString(nameOf(add))}, data, options)?;
    println!("{}", job.id());
    Ok(())
}
`;
}

function deduplication(value: Options): string {
  const { id, ttl, extend, replace } = value as { id: string; ttl?: number; extend?: boolean; replace?: boolean };
  const fields = [`id: ${rustString(id)}.into()`];
  if (ttl !== undefined) fields.push(`ttl: Some(${ttl})`);
  if (extend) fields.push('extend: Some(true)');
  if (replace) fields.push('replace: Some(true)');
  if (fields.length < 4) fields.push('..Default::default()');
  return `Deduplication { ${fields.join(', ')} }`;
}

function rustBackoff(value: number | { type: string; delay: number }): string {
  if (typeof value === 'number') return `Backoff::Milliseconds(${value})`;
  return `Backoff::Strategy { kind: ${rustString(value.type)}.into(), delay: ${value.delay}, max_delay: None }`;
}

function php(add: NewAdd, { host, port }: Place): string {
  const { kept, said } = without(clientOptions(add), ['groupMaxSize']);
  const data = dataOf(add);
  const text = (value: string) => PHP.string(value);
  const rest = Object.keys(kept).length > 0 ? `, ${write(PHP, literal(kept))}` : '';
  return `<?php
require 'vendor/autoload.php';

use Bunqueue\\Queue;

${remarks('//', said, data)}$queue = new Queue(${text(add.queue)}, ['host' => ${text(host)}, 'port' => ${port}]);
$job = $queue->add(${text(nameOf(add))}, ${data ? write(PHP, data) : 'null'}${rest});
echo $job->id(), PHP_EOL;
`;
}

function go(add: NewAdd, { host, port }: Place): string {
  const { kept, said } = without(clientOptions(add), ['groupMaxSize']);
  const data = dataOf(add);
  const text = (value: string) => JSON.stringify(value);
  const plain: Writer = { ...GO, number: (digits) => digits };
  const members = Object.entries(kept).map(([name, value]) => `${text(name)}: ${write(plain, literal(value), '\t\t')}`);
  const written = `bunqueue.JobOptions{${members.map((member) => `\n\t\t${member},`).join('')}${members.length > 0 ? '\n\t' : ''}}`;
  const body = `${remarks('\t//', said, data)}	queue := bunqueue.NewQueue(${text(add.queue)}, bunqueue.Options{Host: ${text(host)}, Port: ${port}})
	defer queue.Close()
	job, err := queue.Add(${text(nameOf(add))}, ${data ? write(GO, data, '\t') : 'nil'}, ${written})
	if err != nil {
		panic(err)
	}
	fmt.Println(job.ID())
`;
  const math = body.includes('math.') ? '\t"math"\n' : '';
  return `package main

import (
	"fmt"
${math}
	bunqueue "github.com/egeominotti/bunqueue/sdk/go"
)

func main() {
${body}}
`;
}
