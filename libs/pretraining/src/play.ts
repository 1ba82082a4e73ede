import { jsonDialect, type ScreenSizes, turnContent, turnText } from '@ui-rl/actions';
import { promptChunks, type ContentPart, type ModelFolder, type Renderer } from '@ui-rl/models';
import { verify, type Engine, type Task } from '@ui-rl/plugin-kit';
import type { Phone } from './phone';

const MAX_TOKENS = 24;

export interface Player {
  engine: Engine;
  folder: ModelFolder;
  renderer: Renderer;
}

export interface Episode {
  task: Task;
  success: boolean;
  turns: number;
}

/** Plays one episode as actors do, without a bus between policy and page. */
export async function playEpisode(player: Player, phone: Phone, task: Task, seed: number): Promise<Episode> {
  await phone.reset(task, seed);
  const maxTurns = task.maxSteps ?? 10;
  let correction: string | undefined;
  let turns = 0;
  for (let turn = 1; turn <= maxTurns; turn++) {
    const { text, sizes } = await answer(player, phone, task, { turn, maxTurns, correction, seed });
    turns = turn;
    const parsed = jsonDialect.parse(text, sizes);
    correction = parsed.ok ? undefined : parsed.correction;
    if (!parsed.ok) continue;
    const [action] = parsed.actions;
    if (action.action === 'finish') break;
    await phone.perform(action);
  }
  const { state } = await phone.look();
  return { task, success: verify(task.checks, state) === true, turns };
}

async function answer(
  { engine, folder, renderer }: Player,
  phone: Phone,
  task: Task,
  at: { turn: number; maxTurns: number; correction?: string; seed: number },
): Promise<{ text: string; sizes: ScreenSizes }> {
  const image = await folder.imageProcessor.process(await phone.screenshot());
  const words = turnText('compact', { goal: task.description, ...at });
  const message = {
    role: 'user' as const,
    content: turnContent<ContentPart>('compact', { type: 'text', text: words }, { type: 'image' }),
  };
  const prompt = renderer.render([message], [image]);
  const { tokens } = await engine.sample({
    model: 'policy',
    prompt: { chunks: promptChunks(prompt.tokenIds, prompt.images, folder.family.shape.imageTokenId) },
    maxTokens: MAX_TOKENS,
    temperature: 1,
    topP: 1,
    seed: at.seed * 64 + at.turn,
  });
  const screenshot = { width: image.width, height: image.height };
  return {
    text: renderer.answerText(tokens),
    sizes: { screenshot, modelImage: folder.imageProcessor.shownSize(screenshot) },
  };
}

/** Success rate of every task over some seeds, on several phones concurrently. */
export async function playAll(
  player: Player,
  phones: readonly Phone[],
  tasks: readonly Task[],
  episodesPerTask: number,
  firstSeed: number,
): Promise<Episode[]> {
  // Each with its own seed: episodes with the same random numbers fail together.
  const queue = tasks
    .flatMap((task) => Array.from({ length: episodesPerTask }, () => task))
    .map((task, index) => ({ task, seed: firstSeed + index }));
  const episodes: Episode[] = [];
  await Promise.all(
    phones.map(async (phone) => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        episodes.push(await playEpisode(player, phone, next.task, next.seed));
      }
    }),
  );
  return episodes;
}

export function successRate(episodes: readonly Episode[]): number {
  return episodes.filter(({ success }) => success).length / Math.max(1, episodes.length);
}
