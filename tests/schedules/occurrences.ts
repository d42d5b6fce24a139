// The moments of cron patterns by Bun's own calendar, which is the one that bunqueue uses. Input and output are those of the
// example `occurrences` of the engine; of six fields the seconds are counted out here, as bunqueue does.
const SECONDS = /^\S+ (?=(\S+ ){4}\S+$)/;

function secondsOf(field: string): number[] {
  const [range = '', step = '1'] = field.split('/');
  if (range.includes(',')) return range.split(',').map(Number);
  const [first = 0, last = first] = range === '*' ? [0, 59] : range.split('-').map(Number);
  return Array.from({ length: last - first + 1 }, (_, at) => first + at).filter((at) => (at - first) % Number(step) === 0);
}

for (const line of (await Bun.stdin.text()).trimEnd().split('\n')) {
  const [text = '', zone, from, to] = line.split('\t');
  const seconds = secondsOf((text.match(SECONDS)?.[0] ?? '0').trim());
  const found: number[] = [];
  let at = new Date(Number(from) * 1000);
  for (;;) {
    const next: Date | null = Bun.cron.parse(text.replace(SECONDS, ''), at, { tz: zone } as object);
    if (!next || next.getTime() / 1000 > Number(to)) break;
    found.push(...seconds.map((second) => next.getTime() / 1000 + second));
    at = next;
  }
  console.log(found.filter((one) => one <= Number(to)).join(' '));
}
