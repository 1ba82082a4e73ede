import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import {
  isRecord,
  PluginError,
  type Action,
  type Environment,
  type EnvironmentContext,
  type EnvironmentSession,
  type OpenOptions,
  type Reply,
  type Screenshot,
  type StepOutcome,
} from '@ui-rl/plugin-kit';
import { LRUCache } from 'lru-cache';
import sharp from 'sharp';
import { fileIn, folderOf } from './folder';
import { isInside, readTarget, type Target } from './target';

/** Largest file and largest side of a picture. */
const MOST_BYTES = 64 * 2 ** 20;
const MOST_SIDE = 8_192;
/** Pictures in memory: many annotations share one. */
const CACHE_BYTES = 256 * 2 ** 20;

/** Environment options of a task. */
interface PictureTask {
  /** Path of the file in the folder. */
  image: string;
  target: Target;
}

/** Shows one picture; the first click is the answer and ends the episode. */
export class PictureEnvironment implements Environment {
  private readonly screenshots = new LRUCache<string, Screenshot>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ png }) => png.length,
  });

  constructor(private readonly context: EnvironmentContext) {}

  async open({ task }: OpenOptions): Promise<Reply<EnvironmentSession>> {
    const where = `task "${task.id ?? task.description}": environment option`;
    try {
      const { image, target } = readTask(task.environment?.options ?? {}, where);
      const file = await fileIn(folderOf(this.context.variables), image, `${where} image`);
      return { ok: true, value: new PictureSession(await this.screenshotOf(file, `${where} image`), target) };
    } catch (error) {
      if (!(error instanceof PluginError)) throw error;
      return { ok: false, error: { code: 'bad_task', message: error.message } };
    }
  }

  close(): Promise<void> {
    this.screenshots.clear();
    return Promise.resolve();
  }

  private async screenshotOf(file: string, where: string): Promise<Screenshot> {
    const known = this.screenshots.get(file);
    if (known !== undefined) return known;
    const read = await readPicture(file, where);
    this.screenshots.set(file, read);
    return read;
  }
}

function readTask(options: Record<string, unknown>, where: string): PictureTask {
  const { image, target, ...others } = options;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new PluginError('option', `${where} "${unknown}" is unknown (known: image, target)`);
  if (typeof image !== 'string' || image === '')
    throw new PluginError('option', `${where} image is missing: expected the path of a picture`);
  return { image, target: readTarget(target, `${where} target`) };
}

/** A picture of any format as a PNG, upright as its EXIF data says. */
async function readPicture(file: string, where: string): Promise<Screenshot> {
  const { size } = await stat(file);
  if (size > MOST_BYTES)
    throw new PluginError('option', `${where}: ${file} has ${size} bytes, expected at most ${MOST_BYTES}`);
  try {
    const picture = sharp(file, { limitInputPixels: MOST_SIDE ** 2 }).rotate();
    const { data, info } = await picture.png().toBuffer({ resolveWithObject: true });
    if (Math.max(info.width, info.height) > MOST_SIDE)
      throw new Error(`${info.width} × ${info.height} pixels, expected at most ${MOST_SIDE} per side`);
    const sha256 = createHash('sha256').update(data).digest('hex');
    return { png: data, sha256, width: info.width, height: info.height };
  } catch (cause) {
    throw new PluginError(
      'option',
      `${where}: ${file} is not a readable picture: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

/** The state that verifiers judge. */
interface Answered {
  /** The place of the first click; null without one. */
  clicked: readonly [number, number] | null;
  inside: boolean;
  /** Whether the episode was finished without a click. */
  refused: boolean;
}

class PictureSession implements EnvironmentSession {
  readonly takesFinish = true;
  private answer: Answered = { clicked: null, inside: false, refused: false };

  constructor(
    readonly screenshot: Screenshot,
    private readonly target: Target,
  ) {}

  get state(): Record<string, unknown> {
    return { ...this.answer };
  }

  step(action: Action): Promise<Reply<StepOutcome>> {
    const { screenshot } = this;
    const point = pointOf(action);
    const isFinish = action.action === 'finish';
    if (point !== undefined) {
      this.answer = { clicked: point, inside: isInside(this.target, point, screenshot), refused: false };
    } else if (isFinish) this.answer = { clicked: null, inside: false, refused: true };
    const done = point !== undefined || isFinish;
    const outcome = done ? 'ok' : 'unsupported_action';
    return Promise.resolve({ ok: true, value: { screenshot, outcome, done, state: this.state } });
  }

  inspect(): Promise<Reply<Record<string, unknown>>> {
    return Promise.resolve({ ok: true, value: this.state });
  }

  close(): Promise<Reply<Record<string, unknown>>> {
    return this.inspect();
  }

  discard(): Promise<void> {
    return Promise.resolve();
  }
}

/** The place of a pointer action of any kind. */
function pointOf(action: Action): readonly [number, number] | undefined {
  if (!isRecord(action)) return undefined;
  const { x, y } = action as { x?: unknown; y?: unknown };
  return typeof x === 'number' && typeof y === 'number' ? [x, y] : undefined;
}
