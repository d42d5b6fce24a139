// A JSON text as a tree that keeps what `JSON.parse` would lose: numbers as they are written, members in their order, and the
// objects by which the broker names what JSON cannot say.

export type Literal =
  | { kind: 'null' }
  | { kind: 'bool'; value: boolean }
  | { kind: 'number'; text: string }
  | { kind: 'string'; value: string }
  | { kind: 'list'; items: Literal[] }
  | { kind: 'object'; members: [string, Literal][] }
  | { kind: 'bytes'; base64: string }
  /** What no client's language writes simply: an extension, a text that is not UTF-8, keys that are not text. */
  | { kind: 'other'; text: string };

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SPACE = /[ \t\n\r]*/y;

/** Reads a JSON text. Throws a `SyntaxError` when it is none. */
export function parseLiteral(text: string): Literal {
  const reader = new Reader(text);
  const value = reader.value();
  reader.end();
  return value;
}

class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  value(): Literal {
    this.match(SPACE);
    const start = this.at;
    switch (this.text[this.at]) {
      case '{':
        return tagged(this.object(), () => this.text.slice(start, this.at));
      case '[':
        return { kind: 'list', items: this.several('[', ']', () => this.value()) };
      case '"':
        return { kind: 'string', value: this.string() };
      case 't':
        return this.word('true', { kind: 'bool', value: true });
      case 'f':
        return this.word('false', { kind: 'bool', value: false });
      case 'n':
        return this.word('null', { kind: 'null' });
      default: {
        const number = this.match(NUMBER);
        if (!number) this.fail();
        return { kind: 'number', text: number };
      }
    }
  }

  end(): void {
    this.match(SPACE);
    if (this.at < this.text.length) this.fail();
  }

  private object(): [string, Literal][] {
    return this.several('{', '}', () => {
      this.match(SPACE);
      const key = this.string();
      this.match(SPACE);
      this.eat(':');
      return [key, this.value()];
    });
  }

  private several<T>(open: string, close: string, one: () => T): T[] {
    const items: T[] = [];
    this.eat(open);
    this.match(SPACE);
    if (this.text[this.at] === close) {
      this.at += 1;
      return items;
    }
    for (;;) {
      items.push(one());
      this.match(SPACE);
      if (this.text[this.at] === close) break;
      this.eat(',');
    }
    this.at += 1;
    return items;
  }

  private string(): string {
    const text = this.match(STRING);
    if (!text) this.fail();
    return JSON.parse(text) as string;
  }

  private word(word: string, value: Literal): Literal {
    if (!this.text.startsWith(word, this.at)) this.fail();
    this.at += word.length;
    return value;
  }

  private eat(character: string): void {
    if (this.text[this.at] !== character) this.fail();
    this.at += 1;
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? '';
    this.at += found.length;
    return found;
  }

  private fail(): never {
    throw new SyntaxError(`Not JSON at character ${this.at + 1}`);
  }
}

function tagged(members: [string, Literal][], text: () => string): Literal {
  const [first, second] = members;
  if (!first || second) return { kind: 'object', members };
  const [name, value] = first;
  if (name === '$bytes' && value.kind === 'string') return { kind: 'bytes', base64: value.value };
  if (name === '$number' && value.kind === 'string') return { kind: 'number', text: value.value };
  return ['$ext', '$text', '$map'].includes(name) ? { kind: 'other', text: text() } : { kind: 'object', members };
}

/** A value of the window as a literal. Members that are not given are left out. */
export function literal(value: unknown): Literal {
  if (value === null) return { kind: 'null' };
  if (typeof value === 'boolean') return { kind: 'bool', value };
  if (typeof value === 'number') return { kind: 'number', text: String(value) };
  if (typeof value === 'string') return { kind: 'string', value };
  if (Array.isArray(value)) return { kind: 'list', items: value.map(literal) };
  const members = Object.entries(value as object).filter(([, member]) => member !== undefined);
  return { kind: 'object', members: members.map(([name, member]) => [name, literal(member)]) };
}
