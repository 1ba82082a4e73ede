import { jsonDialect, type ScreenSizes, turnContent, turnText } from '@ui-rl/actions';
import type {
  ContentPart,
  ModelFolder,
  ProcessedImage,
  RenderedPrompt,
  Renderer,
  TrainerRow,
} from '@ui-rl/models';
import type { Box, Screen } from '@ui-rl/page-generator';
import type { Question } from '@ui-rl/page-tasks';
import { TOKEN } from '../reading/targets';

/** A question as a training sequence of the decoder. */
export interface AskedRow extends Omit<TrainerRow, 'images'> {
  /** Loss weight of each position, as long as `tokenIds`. */
  weights: Float32Array;
  /**
   * For each position: 1 for an image token at the action's target, 0 for another image token, -1 for all others. If the
   * target shows text, only image tokens with text count: a decoder that matches letters finds all of them.
   */
  spots: Int8Array;
  /** Positions of the answer's tokens. */
  answer: { first: number; count: number };
  /** For each position: 1 for an image token that the action's target covers, 0 for all others. */
  covered: Uint8Array;
  /** Positions before the coordinates x and y of the answer; null if it has none, or no target. */
  coordinates: readonly [number, number] | null;
}

/** The tokens of a place: `"x":20`, then `,"y":12}`. */
const COORDINATES = [/^,?"x":\d+$/, /^,"y":\d+/];

/** Total weights of a question's tokens: of the answer, of image tokens at its target, and of other image tokens. */
const ANSWER_WEIGHT = 2;
const TARGET_WEIGHT = 0.5;
const CHARACTERS_WEIGHT = 0.25;

/**
 * Questions as sequences: the goal, the screen, the answer. The loss covers the answer and every image token: the
 * tokens at the action's target predict the first token of the answer, others the character at their center. So the
 * decoder learns where to look before it can answer.
 */
export class Asker {
  constructor(
    private readonly folder: Pick<ModelFolder, 'family' | 'tokenizer' | 'imageProcessor'>,
    private readonly renderer: Renderer,
  ) {}

  row(screen: Screen, image: ProcessedImage, question: Question): AskedRow {
    const { action, target } = question;
    const sizes = sizesOf(screen, this.folder);
    const prompt = askPrompt(this.renderer, question, image, sizes).tokenIds;
    const response = this.renderer.responseIds(jsonDialect.format([action], sizes));
    const tokenIds = [...prompt, ...response].slice(0, -1);
    const targets = Int32Array.from([...prompt, ...response].slice(1));
    const weights = new Float32Array(tokenIds.length);
    weights.fill(ANSWER_WEIGHT / response.length, prompt.length - 1);
    const aims = boxesOf(target, screen);
    const cells = new Set(aims.flatMap((aim) => cellsOf(aim, screen.width / TOKEN)));
    this.writeImageTargets(screen, tokenIds, { targets, weights }, cells, response[0]);
    return {
      tokenIds,
      targets,
      selected: weights,
      weights,
      spots: this.spotsOf(screen, tokenIds, cells),
      answer: { first: prompt.length - 1, count: response.length },
      covered: this.coveredBy(cells, tokenIds),
      coordinates: cells.size === 0 ? null : this.coordinatesOf(response, prompt.length - 1),
    };
  }

  private coveredBy(cells: ReadonlySet<number>, tokenIds: readonly number[]): Uint8Array {
    const begin = tokenIds.indexOf(this.folder.family.shape.imageTokenId);
    const covered = new Uint8Array(tokenIds.length);
    for (const cell of cells) covered[begin + cell] = 1;
    return covered;
  }

  /** @param first position before the first token of the answer */
  private coordinatesOf(response: readonly number[], first: number): readonly [number, number] | null {
    const texts = response.map((id) => this.folder.tokenizer.decode([id]));
    const [x, y] = COORDINATES.map((pattern) => texts.findIndex((text) => pattern.test(text)));
    return x < 0 || y < 0 ? null : [first + x, first + y];
  }

  /** A question without a target has no spots. */
  private spotsOf(
    { width, truth }: Screen,
    tokenIds: readonly number[],
    aimed: ReadonlySet<number>,
  ): Int8Array {
    const { imageTokenId } = this.folder.family.shape;
    const spots = Int8Array.from(tokenIds, (id) => (aimed.size > 0 && id === imageTokenId ? 0 : -1));
    const begin = tokenIds.indexOf(imageTokenId);
    const columns = width / TOKEN;
    const shown = new Set(truth.characters.map(({ box }) => cellAt(box, columns)));
    const hasText = [...aimed].some((cell) => shown.has(cell));
    spots.forEach((spot, position) => {
      const cell = position - begin;
      if (spot === 0 && hasText && !shown.has(cell)) spots[position] = -1;
      else if (spot === 0 && aimed.has(cell)) spots[position] = 1;
    });
    return spots;
  }

  private writeImageTargets(
    { width, truth }: Screen,
    tokenIds: readonly number[],
    { targets, weights }: { targets: Int32Array; weights: Float32Array },
    cells: ReadonlySet<number>,
    first: number,
  ): void {
    const begin = tokenIds.indexOf(this.folder.family.shape.imageTokenId);
    const columns = width / TOKEN;
    const said = new Map<number, number>();
    for (const { text, box } of truth.characters) {
      const cell = cellAt(box, columns);
      if (!said.has(cell)) said.set(cell, this.folder.tokenizer.encode(text)[0]);
    }
    for (const cell of cells) said.set(cell, first);
    for (const [cell, token] of said) {
      targets[begin + cell] = token;
      weights[begin + cell] = cells.has(cell)
        ? TARGET_WEIGHT / cells.size
        : CHARACTERS_WEIGHT / (said.size - cells.size);
    }
  }
}

/** Maximum number of earlier actions in a prompt. */
const PAST_ACTIONS = 7;

/** The prompt of a question, as in an episode with `rollout.history_screenshots` 1 and `model.history_turns` 8. */
export function askPrompt(
  renderer: Renderer,
  { goal, past = [] }: Pick<Question, 'goal' | 'past'>,
  image: ProcessedImage,
  sizes: ScreenSizes,
): RenderedPrompt {
  const earlier = past.slice(-PAST_ACTIONS).map((action) => jsonDialect.format([action], sizes));
  const text = turnText('compact', { goal, turn: 1, maxTurns: 1, earlier });
  const content = turnContent<ContentPart>('compact', { type: 'text', text }, { type: 'image' });
  return renderer.render([{ role: 'user', content }], [image]);
}

/** The sizes to which coordinates of an answer refer. */
export function sizesOf(
  { width, height }: Screen,
  { imageProcessor }: Pick<ModelFolder, 'imageProcessor'>,
): ScreenSizes {
  const screenshot = { width, height };
  return { screenshot, modelImage: imageProcessor.shownSize(screenshot) };
}

/** The visible parts of the boxes that an action may target. */
function boxesOf(targets: Question['target'], { truth }: Screen): Box[] {
  const boxes = targets.map((target) =>
    typeof target === 'number' ? truth.elements.find(({ id }) => id === target)?.box : target,
  );
  return boxes.filter((box) => box !== undefined);
}

/** The image token at the center of a box. */
function cellAt([left, top, width, height]: Box, columns: number): number {
  return Math.floor((top + height / 2) / TOKEN) * columns + Math.floor((left + width / 2) / TOKEN);
}

/** Image tokens of which a box covers at least a third; if there are none, the token under its center. */
export function cellsOf([left, top, width, height]: Box, columns: number): number[] {
  const cells: number[] = [];
  for (let row = Math.floor(top / TOKEN); row * TOKEN < top + height; row++) {
    for (let column = Math.floor(left / TOKEN); column * TOKEN < left + width; column++) {
      const w = Math.min(left + width, (column + 1) * TOKEN) - Math.max(left, column * TOKEN);
      const h = Math.min(top + height, (row + 1) * TOKEN) - Math.max(top, row * TOKEN);
      if (w * h * 3 >= TOKEN * TOKEN && column < columns) cells.push(row * columns + column);
    }
  }
  if (cells.length > 0) return cells;
  return [Math.floor((top + height / 2) / TOKEN) * columns + Math.floor((left + width / 2) / TOKEN)];
}
