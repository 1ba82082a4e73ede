import type { Box, ScreenTruth, TruthCharacter } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import { decorate } from '../wording/decorate';
import * as orders from '../wording/orders';
import { say, type Split } from '../wording/phrases';
import type { Question } from './question';

/** Instructions to click words that are on the screen once. */
export function wordQuestions(
  truth: ScreenTruth,
  random: Random,
  { count, split }: { count: number; split: Split },
): Question[] {
  const words = wordsOf(truth.characters);
  const times = new Map<string, number>();
  for (const { text } of words) times.set(text, (times.get(text) ?? 0) + 1);
  const unique = words.filter(({ text }) => text.length > 1 && times.get(text) === 1);
  return random
    .shuffled(unique)
    .slice(0, count)
    .map(({ text, box }) => {
      const order = () => say(orders.CLICK, { target: `"${text}"` }, random, split);
      const [x, y] = [Math.round(box[0] + box[2] / 2), Math.round(box[1] + box[3] / 2)];
      return {
        intent: 'word',
        goal: decorate(order, random, split),
        action: { action: 'click', x, y },
        target: [box],
      };
    });
}

interface Word {
  text: string;
  box: Box;
}

/** Runs of characters on one line without a gap, in the order of the page. */
function wordsOf(characters: readonly TruthCharacter[]): Word[] {
  const words: Word[] = [];
  let last: Box | undefined;
  for (const { text, box } of characters) {
    const word = words.at(-1);
    const follows =
      word !== undefined &&
      last !== undefined &&
      Math.abs(box[1] - last[1]) < 1 &&
      Math.abs(box[0] - last[0] - last[2]) < 1.5;
    last = box;
    if (!follows) {
      words.push({ text, box });
      continue;
    }
    word.text += text;
    const [left, top, , height] = word.box;
    word.box = [left, top, box[0] + box[2] - left, height];
  }
  return words;
}
