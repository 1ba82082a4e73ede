import { jsonDialect } from '@ui-rl/actions';
import { LocalEngine } from '@ui-rl/engine';
import { loadModelFolder, makeRenderer, promptChunks } from '@ui-rl/models';
import sharp from 'sharp';
import type { Screen } from '@ui-rl/page-generator';
import { accuracy, isRight, pointsInside, type Question } from '@ui-rl/page-tasks';
import { askPrompt, sizesOf } from './question';

/** A held-out screen with its questions. */
export interface Examined {
  screen: Screen;
  questions: Question[];
}

export interface AnsweringScore {
  /** Share of questions with a target whose answer points inside the named element. */
  pointing: number;
  /** Share of questions with a correct answer. */
  right: number;
  /** Share of correct answers by intent, with their number. */
  byIntent: Record<string, string>;
}

const MAX_TOKENS = 80;
const ROWS = 16;

/** Scores a model's greedy answers to held-out questions. */
export async function answeringScore(
  modelDir: string,
  examined: readonly Examined[],
): Promise<AnsweringScore> {
  const folder = await loadModelFolder(modelDir);
  const renderer = makeRenderer(folder);
  const engine = await LocalEngine.start({
    modelDir,
    imageProcessor: folder.imageProcessor,
    device: 'cpu',
    models: [{ name: 'policy', role: 'policy', trainable: { mode: 'frozen' } }],
    maxRows: ROWS,
    maxSequence: 2048,
    seed: 0,
  });
  try {
    const answered = examined.flatMap(({ screen, questions }) =>
      questions.map(async (question) => {
        const { width, height } = screen;
        const png = await sharp(screen.rgb, { raw: { width, height, channels: 3 } })
          .png()
          .toBuffer();
        const sizes = sizesOf(screen, folder);
        const prompt = askPrompt(renderer, question, await folder.imageProcessor.process(png), sizes);
        const { tokens } = await engine.sample({
          model: 'policy',
          prompt: {
            chunks: promptChunks(prompt.tokenIds, prompt.images, folder.family.shape.imageTokenId),
          },
          maxTokens: MAX_TOKENS,
          temperature: 0,
          topP: 1,
          seed: 0,
        });
        const parsed = jsonDialect.parse(renderer.answerText(tokens), sizes);
        const action = parsed.ok ? parsed.actions[0] : undefined;
        return {
          question,
          isRight: action !== undefined && isRight(action, question, screen.truth),
          points: action !== undefined && pointsInside(action, question, screen.truth),
        };
      }),
    );
    return scoreOf(await Promise.all(answered));
  } finally {
    await engine.stop();
  }
}

interface Answered {
  question: Examined['questions'][number];
  isRight: boolean;
  points: boolean;
}

function scoreOf(answers: readonly Answered[]): AnsweringScore {
  const byIntent = new Map<string, boolean[]>();
  for (const { question, isRight: right } of answers) {
    byIntent.set(question.intent, [...(byIntent.get(question.intent) ?? []), right]);
  }
  return {
    pointing: accuracy(
      answers.filter(({ question }) => question.target.length > 0).map(({ points }) => points),
    ),
    right: accuracy(answers.map(({ isRight: right }) => right)),
    byIntent: Object.fromEntries(
      Array.from(byIntent, ([intent, right]) => [intent, `${right.filter(Boolean).length}/${right.length}`]),
    ),
  };
}
