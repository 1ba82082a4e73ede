import type { Point } from '@ui-rl/plugin-kit';
import { leaveFrames, linesOfPage, type DocumentLine } from './ax-frames';
import { placesOf } from './ax-places';
import type { BrowserTab } from './browser-tab';

/** Maximum elements whose positions are queried. */
const MAX_PLACES = 1_500;
/** On pages with more elements, the number sampled first, evenly over the page. */
const PROBES = 500;
/** Up to this number, elements are queried individually. */
const FEW = 60;
/** Space reserved for the line that reports omissions. */
const NOTICE = 80;

/** A line with its position in CSS pixels of the viewport; null if no action would currently reach it. */
export interface PlacedLine {
  depth: number;
  text: string;
  place: Point | null;
}

/** An overlay such as an open list. */
export interface LinesOver {
  lines: readonly PlacedLine[];
  covers(place: Point): boolean;
}

/**
 * The screen of a page as text: its accessibility tree, one element per line, indented by one space per level.
 * `(x,y)` is where an action reaches the element, in screenshot pixels; elements without it are scrolled away, hidden
 * or covered. Elements have no ids: actions use pixels.
 *
 * @param maxLength in characters; lines without a position are omitted first, and the last line says how many were
 * omitted
 * @param over the overlay, listed last; null if there is none
 */
export async function screenText(
  tab: BrowserTab,
  maxLength: number,
  over: LinesOver | null = null,
): Promise<string> {
  const lines = await linesOfPage(tab);
  if (lines === null) return 'page (larger than can be told as text)';
  try {
    const placed = withOver(await withPlaces(lines, tab), over);
    return boundedText(
      placed.map(({ depth, text, place }) => ' '.repeat(depth) + text + shownPlace(place, tab)),
      placed.map(({ place }) => place !== null),
      maxLength,
    );
  } finally {
    await leaveFrames(lines, tab);
  }
}

function withOver(lines: readonly PlacedLine[], over: LinesOver | null): readonly PlacedLine[] {
  if (over === null) return lines;
  const uncovered = (place: Point | null) => (place !== null && over.covers(place) ? null : place);
  return [...lines.map((line) => ({ ...line, place: uncovered(line.place) })), ...over.lines];
}

async function withPlaces(lines: readonly DocumentLine[], tab: BrowserTab): Promise<PlacedLine[]> {
  const drawn = await drawnNear(lines, tab);
  const asked = drawn.length <= MAX_PLACES ? drawn : await nearScreen(drawn, lines);
  const places = await placesOf(asked.map((index) => lines[index]));
  const placed = lines.map(({ depth, text }): PlacedLine => ({ depth, text, place: null }));
  asked.forEach((index, at) => (placed[index].place = places[at]));
  return placed;
}

/**
 * The lines that may be on the screen, by their layout boxes: one query for all, while each position costs two.
 * Frames and emulated devices use other pixels, so all of their lines are kept.
 */
async function drawnNear(lines: readonly DocumentLine[], { cdp, spec }: BrowserTab): Promise<number[]> {
  const all = [...lines.keys()];
  if (lines.length <= FEW || spec.device !== null) return all;
  const { documents } = await cdp.send('DOMSnapshot.captureSnapshot', { computedStyles: [] });
  const [{ nodes, layout, scrollOffsetX = 0, scrollOffsetY = 0 }] = documents;
  const { width, height } = spec.viewport;
  const near = new Set<number>();
  for (const [index, [left, top, wide, high]] of layout.bounds.entries()) {
    const [x, y] = [left - scrollOffsetX, top - scrollOffsetY];
    if (x < width && y < height && x + wide > 0 && y + high > 0)
      near.add(nodes.backendNodeId![layout.nodeIndex[index]]);
  }
  return all.filter((index) => {
    const { document, backendNodeId } = lines[index];
    return document.owner !== null || (backendNodeId !== undefined && near.has(backendNodeId));
  });
}

/** Of very many lines, those whose neighbors are on the screen. */
async function nearScreen(asked: readonly number[], lines: readonly DocumentLine[]): Promise<number[]> {
  const stride = Math.ceil(asked.length / PROBES);
  const probes = [...asked.keys()].filter((at) => at % stride === 0);
  const places = await placesOf(probes.map((at) => lines[asked[at]]));
  const near = new Set<number>();
  for (const [index, at] of probes.entries()) {
    if (places[index] === null) continue;
    for (let each = at - stride; each <= at + stride; each += 1) near.add(each);
  }
  return [...near]
    .filter((at) => at >= 0 && at < asked.length)
    .toSorted((a, b) => a - b)
    .slice(0, MAX_PLACES)
    .map((at) => asked[at]);
}

function shownPlace(place: Point | null, { spec: { viewport, scale } }: BrowserTab): string {
  if (place === null) return '';
  const pixel = (at: number, size: number) =>
    Math.max(0, Math.min(Math.floor(at * scale), Math.floor(size * scale) - 1));
  return ` (${pixel(place[0], viewport.width)},${pixel(place[1], viewport.height)})`;
}

/** @param isPlaced whether each line has a position @param maxLength in characters, the notice included */
export function boundedText(
  lines: readonly string[],
  isPlaced: readonly boolean[],
  maxLength: number,
): string {
  const length = lines.reduce((sum, line) => sum + line.length + 1, -1);
  if (length <= maxLength) return lines.join('\n');
  const first = [...lines.keys()].filter((index) => isPlaced[index]);
  const second = [...lines.keys()].filter((index) => !isPlaced[index]);
  const kept = new Set<number>();
  let room = maxLength - NOTICE;
  for (const index of [...first, ...second]) {
    room -= lines[index].length + 1;
    if (room < 0) break;
    kept.add(index);
  }
  const onScreen = first.filter((index) => !kept.has(index)).length;
  const told = lines.filter((_, index) => kept.has(index));
  const notice = `… ${lines.length - kept.size} more lines are left out, ${onScreen} of them on the screen`;
  return [...told, notice].join('\n');
}
