// Programs for adds, by the window's own generators: a list of cases as JSON in, their programs as JSON out.
import { codeFor, type Language } from '../../ui/src/code/code';
import type { NewAdd } from '../../ui/src/bindings/NewAdd';
import { blankAdd } from '../../ui/src/lib/blankAdd';

interface Case {
  add: Partial<NewAdd>;
  language: Language;
  port: number;
}

const cases = JSON.parse(await Bun.stdin.text()) as Case[];
const programs = cases.map(({ add, language, port }) =>
  codeFor(language, { ...blankAdd(), ...add }, { host: '127.0.0.1', port }),
);
console.log(JSON.stringify(programs));
