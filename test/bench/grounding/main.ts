/**
 * Writes annotated screenshots in the format of ScreenSpot from held-out generated pages, for `ui-rl eval` with the
 * task source `grounding`: npm run bench:grounding -- --out <folder> [--screens 100] [--questions 3]
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FIRST_HELD_OUT_SEED } from '@ui-rl/page-generator';
import { pointQuestions } from '@ui-rl/page-tasks';
import { drawScreens } from '@ui-rl/pretraining';
import { Random } from '@ui-rl/random';
import sharp from 'sharp';

/** Held-out seeds that no score of pre-training uses. */
const FIRST_SEED = FIRST_HELD_OUT_SEED + 50_000;

interface Annotation {
  img_filename: string;
  /** left, top, width, height */
  bbox: number[];
  instruction: string;
  /** how the instruction refers to the element: name, icon, looks, neighbors … */
  data_type: string;
  data_source: string;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      out: { type: 'string' },
      screens: { type: 'string', default: '100' },
      questions: { type: 'string', default: '3' },
    },
  });
  if (values.out === undefined) throw new Error('expected --out <folder>');
  const [count, questions] = [Number(values.screens), Number(values.questions)];
  const seeds = Array.from({ length: count }, (_, index) => FIRST_SEED + index);
  await mkdir(join(values.out, 'images'), { recursive: true });
  const annotations: Annotation[] = [];
  for (const { seed, width, height, rgb, truth } of await drawScreens(seeds)) {
    const name = `page-${seed - FIRST_SEED}.png`;
    await sharp(rgb, { raw: { width, height, channels: 3 } }).toFile(join(values.out, 'images', name));
    const asked = pointQuestions(truth, new Random(seed), { count: questions, split: 'held-out' });
    for (const { goal, intent, target, action } of asked) {
      const element = truth.elements.find(({ id }) => id === target[0]);
      if (element === undefined || target.length > 1 || action.action !== 'click') continue;
      annotations.push({
        img_filename: name,
        bbox: [...element.box],
        instruction: goal,
        data_type: intent,
        data_source: 'generated',
      });
    }
  }
  const file = join(values.out, 'generated.json');
  await writeFile(file, JSON.stringify(annotations, null, 1));
  console.log(`${annotations.length} annotations of ${count} screens: ${file}`);
}

void main();
