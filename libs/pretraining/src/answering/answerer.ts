import { ops, Session, tensor, type Tensor } from '@ui-rl/graph';
import { type FloatTensor, type ImageInput, type ModelFolder, Parameters } from '@ui-rl/models';
import { GradientSession } from '../gradient-session';
import { type MatrixOptimizer, TrainedWeights } from '../trained-weights';
import type { AskedRow } from './question';

/** A screen and the questions about it. */
export interface AskedScreen {
  image: ImageInput;
  rows: readonly AskedRow[];
}

export interface AnsweringLosses {
  /** The training loss: the mean over questions of their weighted loss. */
  total: number;
  /** Mean negative log-probability of an answer token. */
  answer: number;
  /** Mean negative log-probability of the image tokens' targets. */
  image: number;
  /** Share of answers of which every token is the most probable one. */
  exact: number;
}

/** Whether the vision tower is trained, or its features are computed once and kept constant. */
export type VisionMode = 'trained' | 'frozen';

const VISION = 'model.visual.';

/** All weights of a model except frozen ones. */
export async function answeringWeights(
  { family, weights: stored }: ModelFolder,
  vision: VisionMode,
  matrices?: MatrixOptimizer,
): Promise<TrainedWeights> {
  const weights = new Map<string, FloatTensor>();
  for (const { name, shape } of family.parameters()) {
    if (vision === 'frozen' && name.startsWith(VISION)) continue;
    weights.set(name, { shape: [...shape], data: await stored.read(name, shape) });
  }
  return new TrainedWeights(weights, matrices);
}

/** The whole model, trained on questions about screens. The vision tower runs once for all questions of a screen. */
export class Answerer {
  private training: Promise<GradientSession> | undefined;
  private vision: Promise<Session> | undefined;

  constructor(
    private readonly folder: ModelFolder,
    readonly trained: TrainedWeights,
    private readonly mode: VisionMode,
    /** Maximum questions per pass. */
    private readonly rowsPerPass: number,
  ) {}

  /** Adds the gradients of the mean loss of all questions to `sums`. Screens of the same size need no padding. */
  async accumulate(
    screens: readonly AskedScreen[],
    sums: Map<string, Float32Array>,
  ): Promise<AnsweringLosses> {
    this.training ??= this.prepareTraining();
    const session = await this.training;
    const count = screens.reduce((sum, { rows }) => sum + rows.length, 0);
    const losses = new LossSums();
    for (const part of parts(screens, this.rowsPerPass)) {
      const images = part.map(({ image }) => image);
      const rows = part.flatMap(({ rows: asked }, index) =>
        asked.map((row) => ({ ...row, images: [index] })),
      );
      const shown = this.mode === 'trained' ? 'patches' : 'features';
      const { feeds, selected } = this.folder.family.trainerFeeds(rows, images, { images: shown });
      const weights = Float32Array.from(selected, ({ row, position }) => rows[row].weights[position] / count);
      const results = await session.run(
        {
          ...feeds,
          ...(this.mode === 'frozen' ? await this.features(images) : {}),
          ...this.trained.feeds(),
          loss_weights: tensor('float32', weights),
        },
        sums,
      );
      losses.add(rows, selected, results.scores.data as Float32Array, weights);
    }
    return losses.means();
  }

  async release(): Promise<void> {
    await (await this.training)?.release();
    await (await this.vision)?.release();
  }

  private async features(images: readonly ImageInput[]): Promise<Record<string, Tensor>> {
    this.vision ??= this.prepareVision();
    const session = await this.vision;
    return session.run(this.folder.family.visionFeeds(images).feeds);
  }

  private prepareVision(): Promise<Session> {
    const parameters = new Parameters({ weights: this.folder.weights });
    return Session.create(this.folder.family.buildForward({ kind: 'vision', parameters }).graph);
  }

  private prepareTraining(): Promise<GradientSession> {
    const parameters = new Parameters({
      weights: this.folder.weights,
      inputs: (name) => this.trained.weights.has(name),
    });
    const { graph, logProbs, parameterInputs } = this.folder.family.buildForward({
      kind: 'trainer',
      parameters,
      images: this.mode === 'trained' ? 'patches' : 'features',
    });
    const weights = graph.input('loss_weights', 'float32', logProbs.shape);
    graph.output('scores', logProbs);
    const total = ops.neg(ops.reduceSum(ops.mul(logProbs, weights)));
    return GradientSession.create(graph, total, parameterInputs);
  }
}

/** Maximum patches of a pass, including padding: attention memory grows with their square. */
const PATCHES_PER_PASS = 5_000;

/** Groups screens of similar sizes into passes with a limited number of questions; a screen is never split. */
function parts(screens: readonly AskedScreen[], rows: number): AskedScreen[][] {
  const out: AskedScreen[][] = [];
  let count = 0;
  for (const screen of screens.toSorted((a, b) => patchesOf(a) - patchesOf(b))) {
    const part = out.at(-1);
    const fits =
      part !== undefined &&
      count + screen.rows.length <= rows &&
      (part.length + 1) * patchesOf(screen) <= PATCHES_PER_PASS;
    if (!fits) {
      out.push([]);
      count = 0;
    }
    out.at(-1)!.push(screen);
    count += screen.rows.length;
  }
  return out;
}

function patchesOf({ image: { grid } }: AskedScreen): number {
  return grid[0] * grid[1] * grid[2];
}

class LossSums {
  private total = 0;
  private answer = 0;
  private answers = 0;
  private image = 0;
  private images = 0;
  private likely = 0;
  private rows = 0;

  add(
    rows: readonly AskedRow[],
    selected: readonly { row: number; position: number }[],
    scores: Float32Array,
    weights: Float32Array,
  ): void {
    const lowest = new Float32Array(rows.length);
    selected.forEach(({ row, position }, index) => {
      this.total -= weights[index] * scores[index];
      if (position < rows[row].answer.first) {
        this.image -= scores[index];
        this.images++;
        return;
      }
      this.answer -= scores[index];
      this.answers++;
      lowest[row] = Math.min(lowest[row], scores[index]);
    });
    this.rows += rows.length;
    // A probability above one half is certainly the largest.
    for (const score of lowest) if (score > -Math.LN2) this.likely++;
  }

  means(): AnsweringLosses {
    return {
      total: this.total,
      answer: this.answer / Math.max(1, this.answers),
      image: this.image / Math.max(1, this.images),
      exact: this.likely / Math.max(1, this.rows),
    };
  }
}
