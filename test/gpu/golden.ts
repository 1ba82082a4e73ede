import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asShownTogether } from '@ui-rl/models';
import { adapter, frozen, scores, TestModel, train } from '../../libs/engine/test/test-model';
import { VARIANTS, type Line, type Variant } from './lines';
import { fixtures } from './places';

interface Expected {
  images: { file: string }[];
  prompt_ids: number[];
  response_ids: number[];
  greedy_ids: number[];
  logprobs: number[];
}

/**
 * Maximum difference of log-probabilities from the reference in float32. The fixtures' values are around -13:
 * rounding only the weights to bfloat16 changes one by 0.19, to float16 by 0.02.
 */
const TOLERANCE = { fp32: 1e-4, fp16: 0.1 } as const;

/** Maximum difference of the loss and the gradient norm, relative to the CPU's. */
const STEP_TOLERANCE = { fp32: 1e-3, fp16: 2e-2 } as const;

const MAX_TOKENS = 8;

/** Scores and answers a conversation like the reference implementation of its family: test/golden. */
export async function golden(fixture: string, variant: Variant, cacheDir: string): Promise<Line> {
  const dir = join(fixtures, fixture);
  const expected = JSON.parse(readFileSync(join(dir, 'expected.json'), 'utf8')) as Expected;
  const files = expected.images.map(({ file }) => readFileSync(join(dir, file)));
  const model = await TestModel.in(join(dir, 'model'), files);
  const images = asShownTogether(model.images);
  const { prompt_ids: prompt, response_ids: response, greedy_ids: greedy } = expected;
  const maxTokens = Math.min(MAX_TOKENS, greedy.length);
  const engine = await model.start({
    ...VARIANTS[variant],
    models: [frozen],
    maxRows: 1,
    maxSequence: prompt.length + response.length + maxTokens,
    componentFiles: [],
    cacheDir,
  });
  const tokenIds = [...prompt, ...response];
  const datum = {
    modelInput: model.input({ tokenIds, images }),
    targetTokens: [...tokenIds.slice(1), 0],
    weights: tokenIds.map((_, place) => Number(place < tokenIds.length - 1)),
  };
  const found = await scores(engine, [datum]);
  const asked = model.request({ tokenIds: prompt, images }, { maxTokens, temperature: 0 });
  const { tokens } = await engine.sample(asked);
  await engine.stop();
  const { compute } = VARIANTS[variant];
  return {
    kind: 'check',
    name: `golden conversation ${fixture}`,
    variant,
    gap: Math.max(...found.map((value, i) => Math.abs(value - expected.logprobs[i]))),
    tolerance: TOLERANCE[compute],
    wrong: wrongIn(found, expected, tokens, compute),
  };
}

function wrongIn(
  found: readonly number[],
  { logprobs, greedy_ids: greedy }: Expected,
  tokens: readonly number[],
  compute: 'fp32' | 'fp16',
): string | null {
  if (found.length !== logprobs.length) return `${found.length} scores instead of ${logprobs.length}`;
  if (!found.every(Number.isFinite)) return 'a score is not a number';
  const answer = greedy.slice(0, tokens.length);
  // In fp16, two almost equally probable tokens may swap.
  const isSame = compute === 'fp16' || tokens.every((token, i) => token === answer[i]);
  return isSame ? null : `answers ${tokens.join(' ')} instead of ${answer.join(' ')}`;
}

interface Step {
  loss: number;
  gradNorm: number;
}

/** A LoRA training step, compared with the same step on the CPU; layer by layer, as for a deep model. */
export async function goldenStep(fixture: string, variant: Variant, cacheDir: string): Promise<Line> {
  const images = ['0.png', '1.png'].map((name) => readFileSync(join(fixtures, fixture, 'images', name)));
  const model = await TestModel.in(join(fixtures, fixture, 'model'), images);
  const step = async (on: Variant): Promise<Step> => {
    const engine = await model.start({
      ...VARIANTS[on],
      models: [adapter()],
      gradientCheckpointing: 'on',
      componentFiles: [],
      cacheDir,
    });
    // The first step changes the zero-initialized matrices, so that the second has gradients for the whole adapter.
    await train(engine, model.lessons());
    const stepped = await train(engine, model.lessons());
    await engine.stop();
    return stepped;
  };
  const [found, expected] = [await step(variant), await step('cpu')];
  const gaps = [found.loss / expected.loss - 1, found.gradNorm / expected.gradNorm - 1];
  return {
    kind: 'check',
    name: `training step ${fixture} beside the CPU's`,
    variant,
    gap: Math.max(...gaps.map(Math.abs)),
    tolerance: STEP_TOLERANCE[VARIANTS[variant].compute],
    wrong: gaps.every(Number.isFinite) ? null : 'the loss or its gradient is not a number',
  };
}
