// Lays a JSON text out over lines without touching anything else: numbers, escapes and the order of members stay as written.

/** The text with two spaces per level; null when it is not JSON. */
export function formatJson(text: string): string | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  let out = '';
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  tokens.forEach((token, at) => {
    const before = tokens[at - 1] ?? '';
    if (token === '}' || token === ']') {
      depth -= 1;
      out += before === '{' || before === '[' ? token : line() + token;
    } else if (token === ',') out += token;
    else if (token === ':') out += ': ';
    else {
      if (before === '{' || before === '[' || before === ',') out += line();
      out += token;
    }
    if (token === '{' || token === '[') depth += 1;
  });
  return out;
}
