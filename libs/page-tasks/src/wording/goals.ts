import type { Random } from '@ui-rl/random';
import { phrases, say, type Split } from './phrases';

/** Two instructions in sequence. */
const THEN = phrases(
  [
    '<first>, then <second>',
    '<first> and then <second>',
    '<first>. then <second>',
    '<first>; after that, <second>',
    '<first> before you <second>',
    'first <first>, then <second>',
    '<first> and <second>',
    '<first>, and <second>',
    '<first>. afterwards, <second>',
    '<first>, next <second>',
    '<first>. next, <second>',
    '<first>, (finally|lastly) <second>',
    '<first>, and after that <second>',
    'first of all <first>, and then <second>',
    'start with this: <first>. go on with this: <second>',
    '<first> and afterwards <second>',
    'step by step: <first>, <second>',
    'do two things: <first> and <second>',
    '<first>, followed by this: <second>',
    'to begin with, <first>. when that is done, <second>',
  ],
  [
    '<first>, whereupon you <second>',
    'once you are ready, <first>; thereafter <second>',
    '<first>, (only|and only) then <second>',
    'step one: <first>. step two: <second>',
  ],
);

/** An instruction and its final click. */
const SUBMIT = phrases(
  [
    '<first>, then <second>',
    '<first> and <second>',
    '<first> and then <second>',
    '<first>. <second> (when done|at the end|to finish|afterwards)',
    '<first>, (finally|lastly) <second>',
    '<first> and <second> (when you are done|to confirm|to send it|as the last step)',
    '<first>. (finally|then|when done), <second>',
    '<first>; <second> when you are ready',
    '<first>, and <second> when that is done',
    '<first>. to complete it, <second>',
    '<first> before you <second>',
    '<first>. end with this: <second>',
    '<first>. after that, <second>',
  ],
  [
    '<first>, concluding with this: <second>',
    '<first>. round it off: <second>',
    '<first> so that you can <second>',
  ],
);

/** Instructions in order, as one sentence or several. */
export function inOrder(orders: readonly string[], random: Random, split: Split): string {
  return orders.reduceRight((rest, order, at) =>
    say(at === orders.length - 2 ? SUBMIT : THEN, { first: order, second: rest }, random, split),
  );
}

/** Names as a list: `A, B and C`. */
export function listed(names: readonly string[], random: Random): string {
  if (names.length < 2) return names.join('');
  const and = random.pick([' and ', ' and ', ', and ', ' & ', ', ']);
  return names.slice(0, -1).join(', ') + and + names[names.length - 1];
}
