import type { Random } from '@ui-rl/random';
import { phrases, say, type Split } from './phrases';
import { isTaken, unmarked } from './provenance';

/** Before any instruction. */
const BEFORE = phrases(
  [
    'please <order>',
    '(now|next|here), <order>',
    '(your task|the task|task|goal|your goal|to do|todo|instruction): <order>',
    'on this (page|screen), <order>',
  ],
  ['here is your job: <order>', 'kindly do this: <order>'],
);

/** Before an instruction that starts with its verb. */
const BEFORE_VERB = phrases(
  [
    '(can|could|would|will) you (please|) <order>?',
    "(i want|i'd like|i would like|i need) you to <order>",
    'you (should|need to|have to|must) <order>',
    "let's <order>",
    'kindly <order>',
    'just <order>',
    'go ahead and <order>',
    'try to <order>',
    'the (next|only) thing to do is to <order>',
  ],
  [
    'be so kind as to <order>',
    'would you mind helping me: <order>',
    'i was told to <order>',
    'make sure to <order>',
    'what remains is to <order>',
  ],
);
/** Starts of instructions that do not begin with their verb. */
const NO_VERB =
  /^(?:\uE000|[^a-z]|(?:first|for|from|in|inside|no|of|once|only|somewhere|step|the|to|under|what|which|with|your)\b)/;

/** After an instruction, unless it ends with a literal text. */
const BEHIND = phrases(
  ['<order>(,|) please', '<order> (now|for me|on this page|on the screen|here)'],
  ['<order> right away', '<order> if you can'],
);

const POLITE_SHARE = { training: 0.25, 'held-out': 0.5 } as const;

/** Maximum attempts to find a wording that no known benchmark uses. */
const MOST_TRIES = 30;

/**
 * An instruction as people write it: with or without polite phrases, capital letter and full stop.
 *
 * @param order rewords the instruction on each call: wordings of benchmarks are rejected
 * @param exact a literal text in it: no words are appended directly after it
 */
export function decorate(order: () => string, random: Random, split: Split, exact?: string): string {
  const plain = untaken(order, random);
  const isOpen = exact !== undefined && plain.endsWith(exact);
  const before = NO_VERB.test(plain) || random.chance(0.3) ? BEFORE : BEFORE_VERB;
  const around = isOpen || random.chance(0.8) ? before : BEHIND;
  const sentence = () =>
    random.chance(POLITE_SHARE[split]) ? say(around, { order: plain }, random, split) : plain;
  return punctuate(asWritten(sentence, random), random);
}

/** A sentence that is not an instruction, such as a question: with or without capital letter. */
export function asWritten(sentence: () => string, random: Random): string {
  const plain = untaken(sentence, random);
  return unmarked(random.chance(0.85) ? capitalized(plain) : plain);
}

/** A sentence that is not a goal of a known benchmark; if all attempts fail, other words are put before it. */
function untaken(make: () => string, random: Random): string {
  for (let i = 0; i < MOST_TRIES; i++) {
    const sentence = make();
    if (!isTaken(sentence)) return sentence;
  }
  return say(BEFORE, { order: make() }, random, 'training');
}

/** Capitalizes the start of sentences, but not names. */
function capitalized(sentence: string): string {
  const pattern = /\uE000[^\uE001]*\uE001|(^|[.?] )(\p{Ll})/gu;
  return sentence.replaceAll(pattern, (found: string, before?: string, letter?: string) =>
    letter === undefined ? found : before + letter.toUpperCase(),
  );
}

function punctuate(sentence: string, random: Random): string {
  return /[.?!]$/.test(sentence) || random.chance(0.45) ? sentence : `${sentence}.`;
}
