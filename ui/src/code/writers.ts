// Literals in the languages of the clients.
import type { Literal } from './literal';

export interface Writer {
  null: string;
  bool: (value: boolean) => string;
  number: (text: string) => string;
  string: (value: string) => string;
  list: [open: string, close: string];
  object: [open: string, close: string];
  empty: string;
  member: (key: string, value: string) => string;
  bytes: (base64: string) => string;
  indent: string;
  /** Whether short objects have spaces inside. */
  spaced?: boolean;
}

/** A value over several lines, or on one when it is short. */
export function write(writer: Writer, value: Literal, indent = ''): string {
  switch (value.kind) {
    case 'null':
      return writer.null;
    case 'bool':
      return writer.bool(value.value);
    case 'number':
      return writer.number(value.text);
    case 'string':
      return writer.string(value.value);
    case 'bytes':
      return writer.bytes(value.base64);
    case 'other':
      return writer.null;
    case 'list':
      return lines(
        writer,
        writer.list,
        value.items.map((item) => write(writer, item, indent + writer.indent)),
        indent,
      );
    case 'object': {
      if (value.members.length === 0) return writer.empty;
      const members = value.members.map(([key, member]) =>
        writer.member(key, write(writer, member, indent + writer.indent)),
      );
      return lines(writer, writer.object, members, indent);
    }
  }
}

const LINE_CHARS = 80;

function lines(writer: Writer, [open, close]: [string, string], parts: string[], indent: string): string {
  const inside = parts.join(', ');
  const isShort = inside.length + indent.length < LINE_CHARS && !inside.includes('\n');
  const gap = writer.spaced && open === '{' ? ' ' : '';
  if (isShort) return parts.length === 0 ? open + close : `${open}${gap}${inside}${gap}${close}`;
  const next = `\n${indent}${writer.indent}`;
  return `${open}${next}${parts.join(`,${next}`)},\n${indent}${close}`;
}

/** What cannot be written in any of these languages simply, as JSON text. */
export function unsaid(value: Literal): string[] {
  if (value.kind === 'other') return [value.text];
  if (value.kind === 'list') return value.items.flatMap(unsaid);
  return value.kind === 'object' ? value.members.flatMap(([, member]) => unsaid(member)) : [];
}

const isInteger = (text: string) => /^-?\d+$/.test(text);
const byteList = (base64: string) => Array.from(atob(base64), (character) => character.charCodeAt(0)).join(', ');

export const TYPESCRIPT: Writer = {
  null: 'null',
  bool: String,
  // Beyond 2^53 a number would be rounded; the client sends a bigint as a 64-bit integer.
  number: (text) => (isInteger(text) && !Number.isSafeInteger(Number(text)) ? `${text}n` : text),
  string: (value) => JSON.stringify(value),
  list: ['[', ']'],
  object: ['{', '}'],
  empty: '{}',
  member: (key, value) =>
    /^[A-Za-z_$][\w$]*$/.test(key) && key !== '__proto__'
      ? `${key}: ${value}`
      : `${key === '__proto__' ? "['__proto__']" : JSON.stringify(key)}: ${value}`,
  bytes: (base64) => `Buffer.from('${base64}', 'base64')`,
  indent: '  ',
  spaced: true,
};

const PYTHON_NUMBERS: Record<string, string> = {
  NaN: 'float("nan")',
  Infinity: 'float("inf")',
  '-Infinity': 'float("-inf")',
};

export const PYTHON: Writer = {
  null: 'None',
  bool: (value) => (value ? 'True' : 'False'),
  number: (text) => PYTHON_NUMBERS[text] ?? text,
  string: (value) => JSON.stringify(value),
  list: ['[', ']'],
  object: ['{', '}'],
  empty: '{}',
  member: (key, value) => `${JSON.stringify(key)}: ${value}`,
  bytes: (base64) => `base64.b64decode("${base64}")`,
  indent: '    ',
};

const RUST_NUMBERS: Record<string, string> = {
  NaN: 'f64::NAN',
  Infinity: 'f64::INFINITY',
  '-Infinity': 'f64::NEG_INFINITY',
};

export function rustString(value: string): string {
  const escaped = Array.from(value, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (character === '"' || character === '\\') return `\\${character}`;
    if (character === '\n') return '\\n';
    // Control characters and marks of direction would change what is read. Half a pair is no character of Rust.
    const isHidden = code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x206f);
    if (code >= 0xd800 && code < 0xe000) return '\\u{fffd}';
    return isHidden ? `\\u{${code.toString(16)}}` : character;
  });
  return `"${escaped.join('')}"`;
}

function rustNumber(text: string): string {
  if (!isInteger(text)) return RUST_NUMBERS[text] ?? `${text}_f64`;
  return BigInt(text) > 9_223_372_036_854_775_807n ? `${text}_u64` : `${text}_i64`;
}

export const RUST: Writer = {
  null: 'Value::Nil',
  bool: (value) => `Value::from(${value})`,
  number: (text) => `Value::from(${rustNumber(text)})`,
  string: (value) => `Value::from(${rustString(value)})`,
  list: ['Value::Array(vec![', '])'],
  object: ['Value::Map(vec![', '])'],
  empty: 'Value::Map(vec![])',
  member: (key, value) => `(Value::from(${rustString(key)}), ${value})`,
  bytes: (base64) => `Value::Binary(vec![${byteList(base64)}])`,
  indent: '    ',
};

export const PHP: Writer = {
  null: 'null',
  bool: String,
  number: (text) => ({ NaN: 'NAN', Infinity: 'INF', '-Infinity': '-INF' })[text] ?? text,
  string: (value) => `'${value.replace(/([\\'])/g, '\\$1')}'`,
  list: ['[', ']'],
  object: ['[', ']'],
  // An empty array would be sent as a list.
  empty: 'new \\stdClass()',
  member: (key, value) => `'${key.replace(/([\\'])/g, '\\$1')}' => ${value}`,
  bytes: (base64) => `base64_decode('${base64}')`,
  indent: '    ',
};

export const GO: Writer = {
  null: 'nil',
  bool: String,
  number: (text) => {
    if (isInteger(text)) return BigInt(text) > 9_223_372_036_854_775_807n ? `uint64(${text})` : `int64(${text})`;
    return { NaN: 'math.NaN()', Infinity: 'math.Inf(1)', '-Infinity': 'math.Inf(-1)' }[text] ?? `float64(${text})`;
  },
  string: (value) => JSON.stringify(value),
  list: ['[]any{', '}'],
  object: ['map[string]any{', '}'],
  empty: 'map[string]any{}',
  member: (key, value) => `${JSON.stringify(key)}: ${value}`,
  bytes: (base64) => `[]byte{${byteList(base64)}}`,
  indent: '\t',
};
