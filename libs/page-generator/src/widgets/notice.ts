import { escape, mark, type Draft } from '../draft';
import { contrast, css, fromHsl, NAMED_COLORS } from '../look/colors';

const VERBS = ['press', 'choose', 'open', 'use', 'pick', 'look for', 'try', 'fill in', 'see', 'check'];
const LONGEST_NAME = 24;
/** Delimiters of a name in a sentence. */
const [BEGIN, END] = ['\u0001', '\u0002'];
const { black, white } = NAMED_COLORS;

type Say = (name: () => string, verb: () => string) => string;
const SENTENCES: readonly Say[] = [
  (name, verb) => `${capital(verb())} ${name()}.`,
  (name, verb) => `${capital(verb())} ${name()} and ${verb()} ${name()}.`,
  (name, verb) => `First ${verb()} ${name()}, then ${verb()} ${name()} and after that ${name()}.`,
  (name, verb) => `To continue, ${verb()} ${name()}.`,
  (name, verb) => `Step 2: ${verb()} ${name()} below.`,
  (name, verb) => `Do not forget to ${verb()} ${name()} before you ${verb()} ${name()}!`,
  (name) => `${name()} is on this page, and so is ${name()}.`,
];

/**
 * An instruction bar that names parts of the page. A model that reads it must distinguish the names in it from the
 * parts themselves. Created after all parts.
 */
export function notice(draft: Draft): string {
  const { random, texts, theme } = draft;
  const names = draft.parts
    .flatMap(({ name, items = [] }) => [name, ...items.map((item) => item.name)])
    .filter((name) => name !== '' && name.length <= LONGEST_NAME);
  const name = () => `${BEGIN}${names.length === 0 ? texts.title() : random.pick(names)}${END}`;
  const sentence = random.pick(SENTENCES)(name, () => random.pick(VERBS));
  const quote = random.chance(0.5) ? '"' : '';
  const [open, close] = random.chance(0.5) ? ['<b>', '</b>'] : ['', ''];
  const html = marked(escape(sentence), `${escape(quote)}${open}`, `${close}${escape(quote)}`);
  const background = fromHsl(random.below(360), 0.2 + 0.8 * random.next(), 0.25 + 0.7 * random.next());
  const color = contrast(black, background) > contrast(white, background) ? black : white;
  const id = draft.id();
  draft.parts.push({ id, kind: 'text', name: marked(sentence, quote, quote) });
  const size = Math.max(9, Math.round(theme.size * random.pick([0.7, 0.8, 0.9, 1])));
  const height = random.chance(0.5) ? `min-height:${texts.number(20, 50)}px;` : '';
  return `<div ${mark(id, 'text')} style="${height}background:${css(background)};color:${css(color)};font-size:${size}px;line-height:1.2;padding:3px;margin-bottom:4px;overflow-wrap:anywhere">${html}</div>`;
}

function marked(text: string, open: string, close: string): string {
  return text.replaceAll(BEGIN, open).replaceAll(END, close);
}

function capital(text: string): string {
  return text[0].toUpperCase() + text.slice(1);
}
