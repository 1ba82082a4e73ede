import { type FileHandle, open } from 'node:fs/promises';
import type { Screen, ScreenTruth, Viewport } from '@ui-rl/page-generator';
import sharp from 'sharp';
import type { TaskScreen } from '../acting/walks';
import type { Question } from '@ui-rl/page-tasks';

/**
 * A file of screens: a title, then per screen six numbers (32 bits, little-endian), its truth and the tasks on it as
 * JSON, and its pixels as lossless WebP. The numbers: seed, width, height, bytes of the truth, of the tasks and of the
 * pixels. JSON is not compressed, because xz compresses many of them together better.
 */
const TITLE = Buffer.from('ui-rl screens 2\n');
const NUMBERS = 6;

/** A screen of a record, still encoded. */
export interface RecordedScreen extends Viewport {
  seed: number;
  truth: Buffer;
  /** Tasks with their correct next actions; empty for a screen without tasks. */
  questions: Buffer;
  pixels: Buffer;
}

/** Writes a record screen by screen. */
export class ScreenRecorder {
  private last: Promise<void> = Promise.resolve();

  private constructor(private readonly file: FileHandle) {}

  static async create(file: string): Promise<ScreenRecorder> {
    const handle = await open(file, 'w');
    await handle.appendFile(TITLE);
    return new ScreenRecorder(handle);
  }

  /** Returns the bytes written. */
  add(screens: readonly Screen[]): Promise<number> {
    return this.addTasks(screens.map((screen) => ({ screen, questions: [] })));
  }

  /** Returns the bytes written. */
  async addTasks(screens: readonly TaskScreen[]): Promise<number> {
    const bytes = Buffer.concat(await Promise.all(screens.map(encodeScreen)));
    // One write at a time, so that screens of different callers do not mix.
    await (this.last = this.last.then(() => this.file.appendFile(bytes)));
    return bytes.length;
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

async function encodeScreen({
  screen: { seed, width, height, rgb, truth },
  questions,
}: TaskScreen): Promise<Buffer> {
  const text = Buffer.from(JSON.stringify(truth));
  const asked = Buffer.from(questions.length === 0 ? '' : JSON.stringify(questions));
  // More effort takes 70 times as long and saves nothing.
  const pixels = await sharp(rgb, { raw: { width, height, channels: 3 } })
    .webp({ lossless: true, effort: 3, quality: 90 })
    .toBuffer();
  const numbers = Buffer.alloc(NUMBERS * 4);
  [seed, width, height, text.length, asked.length, pixels.length].forEach((each, at) =>
    numbers.writeUInt32LE(each, at * 4),
  );
  return Buffer.concat([numbers, text, asked, pixels]);
}

/** The screens of a record. Throws if the bytes are not a complete record; `file` is its name in errors. */
export function recordedScreens(bytes: Buffer, file: string): RecordedScreen[] {
  if (!bytes.subarray(0, TITLE.length).equals(TITLE)) {
    throw new Error(`${file} is not a record of screens: make one with "ui-rl pretrain record"`);
  }
  const screens: RecordedScreen[] = [];
  let at = TITLE.length;
  const take = (count: number): Buffer => {
    if (at + count > bytes.length) {
      throw new Error(`${file} ends within screen ${screens.length + 1}: record screens again`);
    }
    return bytes.subarray(at, (at += count));
  };
  while (at < bytes.length) {
    const numbers = take(NUMBERS * 4);
    const [seed, width, height, truth, questions, pixels] = Array.from({ length: NUMBERS }, (_, i) =>
      numbers.readUInt32LE(i * 4),
    );
    screens.push({
      seed,
      width,
      height,
      truth: take(truth),
      questions: take(questions),
      pixels: take(pixels),
    });
  }
  return screens;
}

export async function decodeTask(recorded: RecordedScreen): Promise<TaskScreen> {
  return {
    screen: await decodeScreen(recorded),
    questions: JSON.parse(recorded.questions.toString()) as Question[],
  };
}

export async function decodeScreen({ seed, width, height, truth, pixels }: RecordedScreen): Promise<Screen> {
  const { data } = await sharp(pixels).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return {
    seed,
    width,
    height,
    rgb: new Uint8Array(data),
    truth: JSON.parse(truth.toString()) as ScreenTruth,
  };
}
