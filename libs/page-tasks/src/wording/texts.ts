import type { Random } from '@ui-rl/random';

const ONSETS = [
  'b',
  'br',
  'c',
  'ch',
  'd',
  'f',
  'g',
  'gr',
  'h',
  'j',
  'k',
  'l',
  'm',
  'n',
  'p',
  'r',
  's',
  'st',
  't',
  'v',
  'w',
  'z',
];
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ai', 'ea', 'oo'];
const CODAS = ['', '', '', 'l', 'm', 'n', 'r', 's', 't', 'ck', 'nd'];

function word(random: Random): string {
  const syllables = Array.from({ length: 1 + random.below(3) }, () => {
    return random.pick(ONSETS) + random.pick(VOWELS) + random.pick(CODAS);
  });
  const plain = syllables.join('');
  return random.chance(0.35) ? plain[0].toUpperCase() + plain.slice(1) : plain;
}

const number = (random: Random): string => String(random.below(random.pick([10, 100, 1000, 100_000])));

/** Printable ASCII without characters that would end a quotation. */
function nonsense(random: Random): string {
  const characters = Array.from({ length: 2 + random.below(8) }, () =>
    String.fromCharCode(33 + random.below(94)),
  );
  return characters.join('').replaceAll(/["'<>]/g, '_');
}

const MAKERS: readonly ((random: Random) => string)[] = [
  word,
  word,
  (random) => `${word(random)} ${word(random)}`,
  (random) => `${word(random)} ${word(random)} ${word(random)}`,
  number,
  (random) => `${word(random)}${number(random)}`,
  (random) =>
    `${word(random)}@${word(random)}.${random.pick(['com', 'org', 'net', 'de', 'fr'])}`.toLowerCase(),
  (random) => `${number(random)}.${10 + random.below(90)}`,
  (random) => `${1 + random.below(28)}/${1 + random.below(12)}/${1990 + random.below(50)}`,
  nonsense,
];

/** A text to type: words, names, numbers, addresses, dates or random characters. */
export function drawText(random: Random): string {
  return random.pick(MAKERS)(random);
}
