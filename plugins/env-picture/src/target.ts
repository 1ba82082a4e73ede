import { isRecord, PluginError, show } from '@ui-rl/plugin-kit';

/** Where a picture must be clicked. Coordinates are pixels of the picture, or fractions of its sides. */
export type Target =
  /** left, top, right, bottom; the edges belong to it */
  | { box: readonly [number, number, number, number]; unit?: Unit }
  /** x and y of its corners in turn */
  | { polygon: readonly number[]; unit?: Unit }
  /** The picture does not show what the instruction names: the correct answer is to finish without a click. */
  | { absent: true };
type Unit = 'pixel' | 'fraction';

const MOST_CORNERS = 500;

/** @throws PluginError `option` */
export function readTarget(value: unknown, where: string): Target {
  const fail = (expected: string): never => {
    throw new PluginError('option', `${where} is ${show(value)}, expected ${expected}`);
  };
  if (!isRecord(value)) return fail('{box: [left, top, right, bottom]}, {polygon: […]} or {absent: true}');
  const { box, polygon, absent, unit = 'pixel', ...others } = value;
  if (Object.keys(others).length > 0) fail(`no field "${Object.keys(others)[0]}"`);
  if ([box, polygon, absent].filter((each) => each !== undefined).length !== 1)
    fail('one of box, polygon and absent');
  if (unit !== 'pixel' && unit !== 'fraction') return fail('unit pixel or fraction');
  if (absent !== undefined) return absent === true ? { absent } : fail('absent: true');
  const numbers: unknown = box ?? polygon;
  if (!Array.isArray(numbers) || !numbers.every(Number.isFinite)) return fail('a list of numbers');
  const list = numbers as number[];
  if (box !== undefined) {
    const [left, top, right, bottom] = list;
    if (list.length !== 4 || left > right || top > bottom) fail('left, top, right, bottom in this order');
    return { box: [left, top, right, bottom], unit };
  }
  if (list.length < 6 || list.length % 2 !== 0 || list.length > 2 * MOST_CORNERS)
    fail(`x and y of 3 to ${MOST_CORNERS} corners`);
  return { polygon: list, unit };
}

/** Whether a point of a picture is inside a target. */
export function isInside(
  target: Target,
  [x, y]: readonly [number, number],
  { width, height }: { width: number; height: number },
): boolean {
  if ('absent' in target) return false;
  const [px, py] = target.unit === 'fraction' ? [x / width, y / height] : [x, y];
  if ('polygon' in target) return isInPolygon(target.polygon, px, py);
  const [left, top, right, bottom] = target.box;
  return px >= left && px <= right && py >= top && py <= bottom;
}

/** Even-odd rule. */
function isInPolygon(corners: readonly number[], x: number, y: number): boolean {
  let inside = false;
  const count = corners.length / 2;
  for (let i = 0, j = count - 1; i < count; j = i++) {
    const [xi, yi, xj, yj] = [corners[2 * i], corners[2 * i + 1], corners[2 * j], corners[2 * j + 1]];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}
