import type { Action, CoordinateSpace, Dialect, ScreenSizes } from '@ui-rl/actions';
import { failure, ok, warning, type Finding } from './finding';

/** A named rectangle that the policy should click, in pixels of the screenshot. */
export interface TargetBox {
  label: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A policy's answer to "click that target", and its effect. */
export interface TargetAnswer {
  target: TargetBox;
  answer: string;
  sizes: ScreenSizes;
  /** Where the page received the click; null if it received none. */
  clicked: readonly [number, number] | null;
}

/** How well the answers hit their targets when their coordinates are read in one space. */
export interface Fit {
  /** Undefined for action formats with a single coordinate space. */
  coordinates: CoordinateSpace | undefined;
  /** Number of answers that click. */
  clicks: number;
  hits: number;
  /** Mean distance of the clicks from the centre of the target, in pixels; NaN without clicks. */
  distance: number;
}

/** The same answers, read with another coordinate space. */
export interface Reading {
  coordinates: CoordinateSpace | undefined;
  dialect: Pick<Dialect, 'parse'>;
}

export interface Calibration {
  targets: number;
  format: { name: string; coordinates?: unknown };
  /** The fit as the run reads the answers. */
  own: Fit;
  /** Fits of the other spaces, best first. */
  others: Fit[];
  /** Clicks that the page received at another position than the answer named. */
  displaced: number;
  verdict: Omit<Finding, 'subject'>;
}

/** Share of targets to hit before a policy counts as calibrated. */
const ENOUGH = 0.9;
/** Another reading is better if it hits this share of all targets more. */
const BETTER = 0.2;
/**
 * Another reading is also better if it is this many times nearer while the current one is off by more than this many
 * pixels.
 */
const [NEARER, OFF] = [3, 2];

/**
 * Compares the intended targets with the clicked positions under each reading.
 * @param own the reading in which the clicks were performed
 */
export function judge(
  answers: readonly TargetAnswer[],
  format: Calibration['format'],
  own: Reading,
  others: readonly Reading[],
): Calibration {
  const fit = fitOf(answers, own);
  const fits = others.map((reading) => fitOf(answers, reading)).toSorted(better);
  const displaced = answers.filter((each) => isDisplaced(each, own)).length;
  const found = { targets: answers.length, format, own: fit, others: fits, displaced };
  return { ...found, verdict: verdictOf(found, answers, own) };
}

function fitOf(answers: readonly TargetAnswer[], { coordinates, dialect }: Reading): Fit {
  const places = answers.flatMap((each) => {
    const place = placeOf(each, dialect);
    return place === null ? [] : [{ target: each.target, place }];
  });
  const distances = places.map(({ target, place }) =>
    Math.hypot(place[0] + 0.5 - target.x - target.width / 2, place[1] + 0.5 - target.y - target.height / 2),
  );
  return {
    coordinates,
    clicks: places.length,
    hits: places.filter(({ target, place }) => isInside(target, place)).length,
    distance: distances.reduce((sum, each) => sum + each, 0) / distances.length,
  };
}

const CLICKS: readonly Action['action'][] = ['click', 'double_click', 'long_press'];

/** The pixel that an answer clicks; null if it clicks none. */
function placeOf({ answer, sizes }: TargetAnswer, dialect: Reading['dialect']): [number, number] | null {
  const read = dialect.parse(answer, sizes);
  if (!read.ok) return null;
  const click = read.actions.find(({ action }) => CLICKS.includes(action));
  return click !== undefined && 'x' in click && click.x !== undefined ? [click.x, click.y!] : null;
}

function isInside({ x, y, width, height }: TargetBox, [across, down]: readonly [number, number]): boolean {
  return across >= x && across < x + width && down >= y && down < y + height;
}

function isDisplaced(answer: TargetAnswer, { dialect }: Reading): boolean {
  const meant = placeOf(answer, dialect);
  const { clicked } = answer;
  return meant !== null && clicked !== null && (meant[0] !== clicked[0] || meant[1] !== clicked[1]);
}

/** Orders by hits, then by distance. */
function better(a: Fit, b: Fit): number {
  return b.hits - a.hits || distanceOf(a) - distanceOf(b);
}

function distanceOf({ distance }: Fit): number {
  return Number.isNaN(distance) ? Infinity : distance;
}

function verdictOf(
  { targets, format, own, others, displaced }: Omit<Calibration, 'verdict'>,
  answers: readonly TargetAnswer[],
  { dialect }: Reading,
): Omit<Finding, 'subject'> {
  const said = `${inWords(own, targets)} as ${formatInWords(format)}`;
  if (displaced > 0)
    return failure(
      `${said}; the page saw ${displaced} clicks elsewhere than they were meant`,
      'the environment shows screenshots in another size than it is operated in',
    );
  const [best] = others;
  if (best !== undefined && isBetter(best, own, targets)) {
    const mend = `model.action_format: {name: ${format.name}, coordinates: ${best.coordinates}}`;
    return failure(`${said}; read as ${best.coordinates}, ${inWords(best, targets)}`, mend);
  }
  if (own.clicks * 2 < targets) return failure(`${said}${firstComplaint(answers, dialect)}`, OTHER_FORMAT);
  if (own.hits >= ENOUGH * targets) return ok(`${said}; no other convention fits better`);
  return warning(`${said}; no other convention fits better`, UNTAUGHT);
}

const OTHER_FORMAT =
  'another model.action_format, or the prompt that the model was trained with (model.prompt)';
const UNTAUGHT = 'the convention is right as far as clicks tell; the model does not know where things are';

function isBetter(other: Fit, own: Fit, targets: number): boolean {
  if (other.hits - own.hits >= BETTER * targets) return true;
  const isNearer = distanceOf(own) > OFF && distanceOf(own) > NEARER * distanceOf(other);
  return other.hits >= own.hits && other.clicks >= own.clicks && isNearer;
}

function inWords({ hits, clicks, distance }: Fit, targets: number): string {
  const off = clicks === 0 ? '' : `, ${distance.toFixed(1)} pixels from the centre on average`;
  return `${hits} of ${targets} targets were hit by ${clicks} clicks${off}`;
}

function formatInWords({ name, coordinates }: Calibration['format']): string {
  return typeof coordinates === 'string' ? `${name} with coordinates ${coordinates}` : name;
}

function firstComplaint(answers: readonly TargetAnswer[], dialect: Reading['dialect']): string {
  for (const { answer, sizes } of answers) {
    const read = dialect.parse(answer, sizes);
    if (!read.ok) return `; ${JSON.stringify(answer.slice(0, 80))} is not an action: ${read.correction}`;
  }
  return '; the other answers click nowhere';
}
