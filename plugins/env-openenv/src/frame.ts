import { isRecord, OutsideError, screenshotOfPng, valueAt, type Screenshot } from '@ui-rl/plugin-kit';

export interface FrameOptions {
  /** Dotted paths in an observation. */
  picture: string;
  text?: string | undefined;
  /** What policies read of them. */
  observation: 'screenshot' | 'text' | 'both';
}

/** Longest text that is told, in characters. */
const MAX_TOLD = 100_000;

/** What is drawn where there is no picture: letters of 16 pixels on a screen of this size. */
const PAGE = { width: 640, height: 480, line: 20, columns: 76, rows: 23 };
const MAX_SIDE = 8_192;

/** What an observation shows, and what it tells where policies read that. @throws OutsideError */
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

/** The screen of an observation: its picture, or its text as a page. @throws OutsideError */
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

/** Rows of pixels of one, three or four numbers of 0 to 255, as numpy tells an image. */
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

/** Checked before memory is taken: few bytes can say that a picture is large. */
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

/** Text as a screen shows it: black on white, wrapped, what is too long cut off. */
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

/** Longest text, and longest list, of an observation that the state keeps. */
const MAX_TEXT = 10_000;
const MAX_LIST = 1_000;

/** An observation as state keeps it: without its picture, and without what is longer than anybody checks. */
export function withoutPicture(
  observation: Record<string, unknown>,
  picture: string,
): Record<string, unknown> {
  return bounded(without(observation, picture.split('.'))) as Record<string, unknown>;
}

/** A value without what lies at a path of keys; of a list the place of it stays, empty. */
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
