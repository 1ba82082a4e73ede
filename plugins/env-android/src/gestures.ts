import type { Action, Direction, Point, ScrollAction, SwipeAction } from '@ui-rl/plugin-kit';

/** Size of the screen in pixels, in its current orientation. */
export interface Screen {
  width: number;
  height: number;
}

/** A finger movement: pressed at the first point, lifted at the second. */
export interface Stroke {
  from: Point;
  to: Point;
  ms: number;
}

/** Distance of one scroll notch, as fraction of the screen side. */
const NOTCH = 1 / 12;
/** Maximum length of a stroke, as fraction of a side. */
const FURTHEST = 0.7;
/** Slow enough for the content to stop where the finger does. */
const SCROLL_MS = 500;
const SWIPE_MS = 250;

const TOWARDS: Readonly<Record<Direction, Point>> = {
  up: [0, -1],
  down: [0, 1],
  left: [-1, 0],
  right: [1, 0],
};

/** Points given by the agent; the computed end of a directional swipe may be outside the screen. */
export function pointsOf(action: Action): Point[] {
  if ('from' in action) return [action.from, action.to];
  return 'x' in action && action.x !== undefined && action.y !== undefined ? [[action.x, action.y]] : [];
}

export function isInside([x, y]: Point, { width, height }: Screen): boolean {
  return x >= 0 && y >= 0 && x < width && y < height;
}

/** Scrolls towards a direction: the finger moves the opposite way, in strokes that stay on the screen. */
export function scrollStrokes({ direction, amount, x, y }: ScrollAction, screen: Screen): Stroke[] {
  const start: Point = x === undefined || y === undefined ? middle(screen) : [x, y];
  const [towardsX, towardsY] = TOWARDS[direction];
  const side = towardsX === 0 ? screen.height : screen.width;
  const strokes: Stroke[] = [];
  for (let left = Math.min(amount * NOTCH, 10) * side; left >= 1; left -= FURTHEST * side) {
    const distance = Math.min(left, FURTHEST * side);
    strokes.push(along(start, [-towardsX, -towardsY], distance, screen, SCROLL_MS));
  }
  return strokes;
}

/** A directional swipe covers half of the screen unless it gives a distance. */
export function swipeStroke(swipe: SwipeAction, screen: Screen): Stroke {
  if ('from' in swipe) return { from: swipe.from, to: swipe.to, ms: SWIPE_MS };
  const { direction, x, y } = swipe;
  const start: Point = x === undefined || y === undefined ? middle(screen) : [x, y];
  const side = TOWARDS[direction][0] === 0 ? screen.height : screen.width;
  const end = add(start, TOWARDS[direction], swipe.distance ?? side / 2);
  return { from: start, to: clamped(end, screen), ms: SWIPE_MS };
}

/** A stroke from a point, or around it if there is too little space ahead. */
function along(start: Point, towards: Point, distance: number, screen: Screen, ms: number): Stroke {
  const end = add(start, towards, distance);
  const to = clamped(end, screen);
  const from = clamped(add(start, [to[0] - end[0], to[1] - end[1]], 1), screen);
  return { from, to, ms };
}

function middle({ width, height }: Screen): Point {
  return [Math.floor(width / 2), Math.floor(height / 2)];
}

function add([x, y]: Point, [towardsX, towardsY]: Point, distance: number): Point {
  return [Math.round(x + towardsX * distance), Math.round(y + towardsY * distance)];
}

function clamped([x, y]: Point, { width, height }: Screen): Point {
  const within = (value: number, size: number) => Math.min(Math.max(value, 0), size - 1);
  return [within(x, width), within(y, height)];
}
