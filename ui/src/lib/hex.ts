// Raw bytes for reading: sixteen a line, their place in front, their text behind.

const PER_LINE = 16;

/** `hex` is pairs of digits with spaces between, `text` one character per byte. */
export function hexLines(hex: string, text: string): string[] {
  const bytes = hex === '' ? [] : hex.split(' ');
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += PER_LINE) {
    const part = bytes.slice(at, at + PER_LINE);
    const place = at.toString(16).padStart(4, '0');
    const pad = ' '.repeat((PER_LINE - part.length) * 3);
    lines.push(`${place}  ${part.join(' ')}${pad}  ${text.slice(at, at + PER_LINE)}`);
  }
  return lines;
}
