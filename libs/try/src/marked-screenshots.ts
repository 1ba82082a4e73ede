import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import type { LiveView, ShownTurn } from './view';

const MARK = '#ff2d7a';

/**
 * Writes the screenshot of each turn with its actions drawn on it, and the last one unchanged. Returns the file
 * paths.
 */
export async function writeScreenshots(folder: string, live: LiveView): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const files: string[] = [];
  const write = async (name: string, sha256: string, actions: ShownTurn['actions']): Promise<void> => {
    const png = live.png(sha256);
    if (png === undefined) return;
    const path = join(folder, `${name}.png`);
    await writeFile(path, actions.length === 0 ? png : await markedScreenshot(png, actions));
    files.push(path);
  };
  for (const { index, screenshot, actions } of live.view.turns) {
    const name = actions[0]?.action;
    const file = `${String(index + 1).padStart(2, '0')}-${typeof name === 'string' ? name : 'no_action'}`;
    await write(file, screenshot, actions);
  }
  const { screenshot, turns } = live.view;
  if (screenshot !== null) await write(`${String(turns.length + 1).padStart(2, '0')}-end`, screenshot, []);
  return files;
}

/** A screenshot as PNG, with rings at the points of actions and lines for drags. */
export async function markedScreenshot(png: Uint8Array, actions: ShownTurn['actions']): Promise<Buffer> {
  const image = sharp(png);
  const { width, height } = await image.metadata();
  const unit = Math.max(width, height) / 100;
  const marks = actions.flatMap((action) => marksOf(action, unit)).join('');
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" fill="none">${marks}</svg>`;
  return image
    .composite([{ input: Buffer.from(svg) }])
    .png()
    .toBuffer();
}

function marksOf({ x, y, from, to }: ShownTurn['actions'][number], unit: number): string[] {
  if (isPoint(from) && isPoint(to))
    return [
      `<path d="M${from.join(' ')}L${to.join(' ')}" stroke="${MARK}" stroke-width="${unit}"/>`,
      `<circle cx="${to[0]}" cy="${to[1]}" r="${2 * unit}" fill="${MARK}"/>`,
    ];
  if (typeof x !== 'number' || typeof y !== 'number') return [];
  const ring = (colour: string, stroke: number) =>
    `<circle cx="${x}" cy="${y}" r="${3 * unit}" stroke="${colour}" stroke-width="${stroke * unit}"/>`;
  return [
    ring('white', 1.8),
    ring(MARK, 0.9),
    `<circle cx="${x}" cy="${y}" r="${0.7 * unit}" fill="${MARK}"/>`,
  ];
}

function isPoint(value: unknown): value is [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every((each) => typeof each === 'number');
}
