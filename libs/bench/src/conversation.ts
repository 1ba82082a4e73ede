import { jsonDialect, turnContent, turnText } from '@ui-rl/actions';
import {
  type ContentPart,
  makeRenderer,
  type ModelFolder,
  type ProcessedImage,
  type RenderedSample,
} from '@ui-rl/models';
import { loadComponents, loadTasks } from '@ui-rl/plugin-kit';
import sharp from 'sharp';

/** The screen size of the demo tasks. */
const SCREEN = { width: 160, height: 224 };
const RECTANGLES = 12;

/**
 * Typical turns of a policy: each with its own screenshot, the goal of a demo task, and a click as answer.
 * @param group number of successive turns with the same screenshot and goal, as in the episodes of a group
 */
export async function makeTurns(
  folder: ModelFolder,
  count: number,
  screen = SCREEN,
  group = 1,
): Promise<RenderedSample[]> {
  const tasks = await loadTasks(await loadComponents(), [{ source_type: 'demo_training' }]);
  const renderer = makeRenderer(folder);
  const sizes = { screenshot: screen, modelImage: folder.imageProcessor.shownSize(screen) };
  const turns: RenderedSample[] = [];
  for (let index = 0; index < count; index += 1) {
    const first = index - (index % group);
    const goal = tasks[first % tasks.length].description;
    const text = turnText('compact', { goal, turn: 1, maxTurns: 8 });
    const message = {
      role: 'user' as const,
      content: turnContent<ContentPart>('compact', { type: 'text', text }, { type: 'image' }),
    };
    const click = { action: 'click' as const, x: (index * 37) % 160, y: (index * 53) % 224 };
    const answer = jsonDialect.format([click], sizes);
    turns.push(renderer.renderWithResponse([message], [await makeScreen(folder, first, screen)], answer));
  }
  return turns;
}

/** A screen of colored rectangles, different for each number. */
async function makeScreen(
  folder: ModelFolder,
  number: number,
  { width, height }: typeof SCREEN,
): Promise<ProcessedImage> {
  const pixels = Buffer.alloc(width * height * 3, 240);
  for (let rectangle = 0; rectangle < RECTANGLES; rectangle += 1) {
    const place = (number * 131 + rectangle * 977) % (width * height);
    const [left, top] = [place % width, Math.floor(place / width)];
    for (let y = top; y < Math.min(top + 24, height); y += 1) {
      pixels.fill((place * 7) % 256, (y * width + left) * 3, (y * width + Math.min(left + 40, width)) * 3);
    }
  }
  const png = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
  return folder.imageProcessor.process(png);
}
