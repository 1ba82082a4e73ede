import { isRecord, OutsideError, screenshotOfPng, valueAt, type Screenshot } from '@ui-rl/plugin-kit';

export interface FrameOptions {
  /** Dotted paths in an observation. */
  picture: string;
  text?: string | undefined;
  /** The parts that policies receive. */
  observation: 'screenshot' | 'text' | 'both';
}

/** Maximum length of observation text, in characters. */
const MAX_TOLD = 100_000;

/** The screen drawn for observations without a picture; 16-pixel letters. */
const PAGE = { width: 640, height: 480, line: 20, columns: 76, rows: 23 };
const MAX_SIDE = 8_192;

/** The screenshot of an observation, and its text if policies receive it. @throws OutsideError */
export async function frameOf(
  observation: Record<string, unknown>,
  options: FrameOptions,
  from: string,
): Promise<Screenshot> {
  const screenshot = await pictureOf(observation, options, from);
  if (options.observation === 'screenshot') return screenshot;
  const text = cleaned(textOf(observation, options).slice(0, MAX_TOLD));
  return Object.assign(screenshot, { text }, options.observation === 'text' ? { textOnly: true } : {});
}

function textOf(observation: Record<string, unknown>, { text, picture }: FrameOptions): string {
  const told = text === undefined ? withoutPicture(observation, picture) : valueAt(observation, text);
  return typeof told === 'string' ? told : JSON.stringify(told ?? {}, null, 1);
}

function cleaned(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, '');
}

/** The screen of an observation: its picture, or its text drawn as a page. @throws OutsideError */
async function pictureOf(
  observation: Record<string, unknown>,
  options: FrameOptions,
  from: string,
): Promise<Screenshot> {
  const { picture } = options;
  const found = valueAt(observation, picture) ?? null;
  if (typeof found === 'string' && found !== '') {
    return screenshotOfPng(Buffer.from(found.replace(/^data:image\/png;base64,/, ''), 'base64'), from);
  }
  if (Array.isArray(found)) return ofPixels(found, from);
  if (found !== null && found !== '') {
    throw new OutsideError(
      'crashed',
      `${from} has a "${picture}" that is neither pixels nor a PNG in base64`,
    );
  }
  return drawn(textOf(observation, options), from);
}

/** Rows of pixels with one, three or four numbers from 0 to 255, as numpy serializes an image. */
async function ofPixels(rows: readonly unknown[], from: string): Promise<Screenshot> {
  const height = rows.length;
  const width = Array.isArray(rows[0]) ? rows[0].length : 0;
  const first = Array.isArray(rows[0]) ? (rows[0][0] as unknown) : undefined;
  const channels = Array.isArray(first) ? first.length : 1;
  const isScreen =
    width > 0 &&
    width <= MAX_SIDE &&
    height <= MAX_SIDE &&
    [1, 3, 4].includes(channels) &&
    isRectangle(rows, width);
  const bytes = new Uint8Array(isScreen ? width * height * channels : 0);
  if (!isScreen || !copied(rows, bytes, channels)) {
    throw new OutsideError('crashed', `${from} has a picture that is not a rectangle of pixels of 0 to 255`);
  }
  const { default: sharp } = await import('sharp');
  const raw = { width, height, channels: channels as 1 | 3 | 4 };
  return screenshotOfPng(await sharp(bytes, { raw }).png({ compressionLevel: 2 }).toBuffer(), from);
}

/** Checked before allocation: a small message can claim a large picture. */
function isRectangle(rows: readonly unknown[], width: number): boolean {
  return rows.every((row) => Array.isArray(row) && row.length === width);
}

function copied(rows: readonly unknown[], bytes: Uint8Array, channels: number): boolean {
  let at = 0;
  for (const row of rows as unknown[][]) {
    for (const pixel of row) {
      const values: unknown[] = Array.isArray(pixel) ? pixel : [pixel];
      if (values.length !== channels) return false;
      for (const value of values) {
        if (typeof value !== 'number' || !(value >= 0 && value <= 255)) return false;
        bytes[at++] = value;
      }
    }
  }
  return true;
}

/** Draws text black on white, wrapped and truncated. */
async function drawn(text: string, from: string): Promise<Screenshot> {
  const { default: sharp } = await import('sharp');
  const lines = cleaned(text.slice(0, MAX_TOLD))
    .split('\n')
    .flatMap((line) => line.match(new RegExp(`.{1,${PAGE.columns}}`, 'gu')) ?? [''])
    .slice(0, PAGE.rows)
    .map(
      (line, index) =>
        `<text x="10" y="${(index + 1) * PAGE.line}" xml:space="preserve">${escaped(line)}</text>`,
    );
  const style = 'font-family="monospace" font-size="14" fill="black"';
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${PAGE.width}" height="${PAGE.height}"><rect width="100%" height="100%" fill="white"/><g ${style}>${lines.join('')}</g></svg>`;
  return screenshotOfPng(await sharp(Buffer.from(svg)).png().toBuffer(), from);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Maximum length of texts and lists that the state keeps from an observation. */
const MAX_TEXT = 10_000;
const MAX_LIST = 1_000;

/** An observation for the state: without its picture, and without overlong values. */
export function withoutPicture(
  observation: Record<string, unknown>,
  picture: string,
): Record<string, unknown> {
  return bounded(without(observation, picture.split('.'))) as Record<string, unknown>;
}

/** A value without what is at a path of keys; in a list an empty place remains. */
function without(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (Array.isArray(value)) {
    return value.map((each: unknown, place) => {
      if (String(place) !== key) return each;
      return rest.length === 0 ? null : without(each, rest);
    });
  }
  if (!isRecord(value) || !Object.hasOwn(value, key)) return value;
  if (rest.length > 0) return { ...value, [key]: without(value[key], rest) };
  const { [key]: _picture, ...others } = value;
  return others;
}

function bounded(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT);
  if (depth > 16) return null;
  if (Array.isArray(value)) return value.slice(0, MAX_LIST).map((each) => bounded(each, depth + 1));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).slice(0, MAX_LIST);
  return Object.fromEntries(entries.map(([key, each]) => [key, bounded(each, depth + 1)]));
}
