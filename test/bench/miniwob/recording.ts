import type { EpisodeDetail, EpisodePage, EvaluationComparison } from '@ui-rl/records';
import sharp from 'sharp';
import { markedScreenshot } from '../../../libs/try/src/marked-screenshots';

const HELP = `Makes an animated picture of two policies on the same episodes, from the records of an evaluation:

  npx ui-rl eval --checkpoint A --checkpoint B --tasks … --keep-open
  node libs/testkit/run-ts.cjs test/bench/miniwob/recording.ts MONITOR RUN FILE.webp [PAGE …]

MONITOR is the address and RUN the name that the first command prints. A is on the left. PAGE defaults to all pages.`;

/** How long a frame stays: a turn, and the end of an episode. */
const TURN_MS = 900;
const END_MS = 1_600;
const SCALE = 1.5;
const MARGIN = 12;
const TEXT_HEIGHT = 62;
const TITLES = ['before training', 'after training'];
const FONT = 'font-family="DejaVu Sans, sans-serif"';
const MARK = '#d6336c';
const [SUCCESS, FAILURE] = ['#2b8a3e', '#868e96'];

interface Size {
  width: number;
  height: number;
}

/** An episode as pictures: each turn with its action, and the last screen with the verdict. */
interface Played extends Size {
  turns: Buffer[];
  last: Buffer;
}

async function main(): Promise<void> {
  const [url, run, file, ...pages] = process.argv.slice(2);
  if (file === undefined) {
    console.error(HELP);
    process.exit(2);
  }
  const records = new Records(url, run);
  const [before, after] = await records.episodes();
  const tasks = pages.length === 0 ? [...before.keys()] : pages.map((page) => `miniwob.${page}`);
  const frames: Buffer[] = [];
  const delay: number[] = [];
  for (const task of tasks) {
    const ids = [before, after].map((episodes) => episodes.get(task));
    const sides = await Promise.all(
      ids.map((id, index) => {
        if (id === undefined) throw new Error(`${run} has no episode of ${task} ${TITLES[index]}`);
        return drawEpisode(records, id, TITLES[index]);
      }),
    );
    const count = Math.max(...sides.map(({ turns }) => turns.length));
    for (let turn = 0; turn <= count; turn += 1) {
      frames.push(await sideBySide(sides, turn));
      delay.push(turn === count ? END_MS : TURN_MS);
    }
  }
  const animation = sharp(frames, { join: { animated: true } });
  await animation.webp({ quality: 70, effort: 6, delay, loop: 0 }).toFile(file);
  console.log(`${file}: ${frames.length} frames of ${tasks.length} pages`);
}

/** The records of an evaluation, from the monitor. */
class Records {
  constructor(
    private readonly url: string,
    private readonly run: string,
  ) {}

  /** The first episode of each task, by task, for each of the two checkpoints. */
  async episodes(): Promise<Map<string, string>[]> {
    const [{ evaluations }] = await this.read<EvaluationComparison[]>(`runs/${this.run}/evaluations`);
    if (evaluations.length !== 2)
      throw new Error(`${this.run} has ${evaluations.length} checkpoints, expected 2`);
    return Promise.all(
      evaluations.map(async ({ evaluationId }) => {
        const path = `runs/${this.run}/episodes?evaluation=${evaluationId}&limit=200`;
        const { episodes } = await this.read<EpisodePage>(path);
        return new Map(episodes.map(({ taskId, id }) => [taskId, id]));
      }),
    );
  }

  episode(id: string): Promise<EpisodeDetail> {
    return this.read(`episodes/${id}`);
  }

  async screenshot(hash: string): Promise<Buffer> {
    const response = await this.fetch(`runs/${this.run}/screenshots/${hash}`);
    return Buffer.from(await response.arrayBuffer());
  }

  private async read<T>(path: string): Promise<T> {
    return (await (await this.fetch(path)).json()) as T;
  }

  private async fetch(path: string): Promise<Response> {
    const response = await fetch(new URL(`api/${path}`, this.url));
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  }
}

async function drawEpisode(records: Records, id: string, title: string): Promise<Played> {
  const episode = await records.episode(id);
  if (episode.environment === null) throw new Error(`${id} was not played`);
  const size = {
    width: Math.round(episode.environment.width * SCALE),
    height: Math.round(episode.environment.height * SCALE),
  };
  const { goal: asked } = episode.initialState ?? {};
  const goal = typeof asked === 'string' ? asked : episode.description;
  const draw = async (screenshot: Buffer, overlay: string) =>
    withText(await scaled(screenshot, overlay, size), title, goal, size);
  const turns: Buffer[] = [];
  for (const { screenshot, actions } of episode.turns) {
    const marked = await markedScreenshot(await records.screenshot(screenshot), actions);
    turns.push(await draw(marked, wordsFor(actions[0], size)));
  }
  const shown = episode.finalScreenshot ?? episode.turns[episode.turns.length - 1].screenshot;
  const last = await draw(await records.screenshot(shown), verdict(episode.success === true, size));
  return { turns, last, width: size.width, height: size.height + TEXT_HEIGHT };
}

async function sideBySide(sides: readonly Played[], turn: number): Promise<Buffer> {
  const [{ width, height }] = sides;
  return blank(2 * width + 3 * MARGIN, height + 2 * MARGIN)
    .composite(
      sides.map(({ turns, last }, index) => ({
        input: turns[turn] ?? last,
        left: MARGIN + index * (width + MARGIN),
        top: MARGIN,
      })),
    )
    .png()
    .toBuffer();
}

async function withText(screen: Buffer, title: string, goal: string, size: Size): Promise<Buffer> {
  const lines = wrapped(goal, 34).map(
    (line, index) => `<text x="0" y="${36 + 17 * index}" font-size="12" fill="#333">${escaped(line)}</text>`,
  );
  const heading = `<text x="0" y="16" font-size="14" font-weight="bold" fill="#333">${title}</text>`;
  const text = svg({ width: size.width, height: TEXT_HEIGHT }, `${heading}${lines.join('')}`);
  return blank(size.width, size.height + TEXT_HEIGHT)
    .composite([
      { input: text, left: 0, top: 0 },
      { input: screen, left: 0, top: TEXT_HEIGHT },
    ])
    .png()
    .toBuffer();
}

function scaled(screenshot: Buffer, overlay: string, size: Size): Promise<Buffer> {
  return sharp(screenshot)
    .resize(size.width, size.height)
    .composite([{ input: svg(size, overlay) }])
    .png()
    .toBuffer();
}

/** Names an action that has no place on the screen. */
function wordsFor(action: Record<string, unknown> | undefined, size: Size): string {
  if (action === undefined) return band('no action', MARK, size);
  const { action: name, text, from, x } = action;
  if (from !== undefined || x !== undefined) return '';
  return band(typeof text === 'string' ? `${String(name)} “${text}”` : String(name), MARK, size);
}

function verdict(isSuccess: boolean, size: Size): string {
  const color = isSuccess ? SUCCESS : FAILURE;
  const frame = `<rect width="${size.width}" height="${size.height}" fill="none" stroke="${color}" stroke-width="8"/>`;
  return frame + band(isSuccess ? 'success' : 'failed', color, size);
}

function band(text: string, color: string, { width, height }: Size): string {
  const box = `<rect y="${height - 24}" width="${width}" height="24" fill="${color}"/>`;
  return `${box}<text x="6" y="${height - 7}" font-size="14" fill="#fff">${escaped(text)}</text>`;
}

function svg({ width, height }: Size, content: string): Buffer {
  return Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ${FONT}>${content}</svg>`,
  );
}

function blank(width: number, height: number): sharp.Sharp {
  return sharp({ create: { width, height, channels: 3, background: '#fff' } });
}

/** At most two lines of a text. */
function wrapped(text: string, letters: number): string[] {
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const line = lines[lines.length - 1];
    if (`${line} ${word}`.length > letters) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`.trim();
  }
  return lines.length > 2 ? [lines[0], `${lines[1]} …`] : lines;
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

void main();
