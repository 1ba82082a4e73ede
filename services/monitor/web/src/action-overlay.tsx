import { useId } from 'preact/compat';
import { plural } from './format';

type Action = Record<string, unknown>;
type Point = [number, number];

interface Size {
  width: number;
  height: number;
}

/**
 * Draws the actions of a turn on the screenshot that they were decided on: points, strokes, and words for actions
 * without a point. Several actions are numbered in order.
 */
export function ActionOverlay({ actions, size }: { actions: readonly Action[]; size: Size }) {
  const unit = Math.max(size.width, size.height) / 100;
  const numbered = actions.map((action, index) => ({
    action,
    number: actions.length > 1 ? index + 1 : null,
    start: pointOf(action) ?? strokeOf(action, size)?.[0] ?? null,
  }));
  const words = numbered.filter(({ start }) => start === null);
  return (
    <>
      <svg
        className="overlay"
        role="img"
        viewBox={`0 0 ${size.width} ${size.height}`}
        aria-label={actions.map(describe).join(', ')}
      >
        {numbered.map(({ action, number, start }, index) => (
          <g key={index}>
            <Drawn action={action} size={size} unit={unit} />
            {number !== null && start !== null && (
              <Label number={number} at={start} size={size} unit={unit} />
            )}
          </g>
        ))}
      </svg>
      {words.length > 0 && (
        <span className="words">
          {words.map(({ action, number }, index) => (
            <span key={index}>
              {number !== null && `${number}. `}
              {describe(action)}
            </span>
          ))}
        </span>
      )}
    </>
  );
}

/** The number of an action, beside its mark and within the screen. */
function Label({ number, at: [x, y], size, unit }: { number: number; at: Point; size: Size; unit: number }) {
  const radius = unit * 3.4;
  const offset = unit * 7.5;
  const cx = x + offset + radius > size.width ? x - offset : x + offset;
  const cy = y - offset - radius < 0 ? y + offset : y - offset;
  return (
    <g className="number">
      <circle cx={cx} cy={cy} r={radius} />
      <text x={cx} y={cy} fontSize={unit * 5} textAnchor="middle" dominantBaseline="central">
        {number}
      </text>
    </g>
  );
}

function Drawn({ action, size, unit }: { action: Action; size: Size; unit: number }) {
  const at = pointOf(action);
  const stroke = strokeOf(action, size);
  if (stroke !== null) return <Arrow points={stroke} unit={unit} />;
  if (at === null) return null;
  const double = action.action === 'double_click' || action.action === 'triple_click';
  return (
    <g className="point">
      <Cross at={at} unit={unit} />
      {(double || action.action === 'long_press') && (
        <circle cx={at[0]} cy={at[1]} r={unit * 5.5} strokeWidth={unit * 0.7} fill="none" />
      )}
    </g>
  );
}

function Cross({ at: [x, y], unit }: { at: Point; unit: number }) {
  const arm = unit * 5.4;
  const gap = unit * 1.2;
  const path = `M${x - arm} ${y}H${x - gap}M${x + gap} ${y}H${x + arm}M${x} ${y - arm}V${y - gap}M${x} ${y + gap}V${y + arm}`;
  return (
    <>
      <path className="halo" d={path} strokeWidth={unit * 1.6} />
      <circle className="halo" cx={x} cy={y} r={unit * 3} strokeWidth={unit * 1.6} fill="none" />
      <path d={path} strokeWidth={unit * 0.8} />
      <circle cx={x} cy={y} r={unit * 3} strokeWidth={unit * 0.8} fill="none" />
    </>
  );
}

function Arrow({ points, unit }: { points: Point[]; unit: number }) {
  const head = useId();
  const [from] = points;
  const path = `M${points.map((point) => point.join(' ')).join('L')}`;
  return (
    <g className="point">
      <marker id={head} viewBox="0 0 10 10" refX="7" refY="5" markerWidth="5" markerHeight="5" orient="auto">
        <path className="head" d="M0 0L10 5L0 10z" />
      </marker>
      <path className="halo" d={path} strokeWidth={unit * 2.6} fill="none" />
      <path d={path} strokeWidth={unit * 1.3} fill="none" markerEnd={`url(#${head})`} />
      <circle className="head" cx={from[0]} cy={from[1]} r={unit * 1.8} />
    </g>
  );
}

function isPoint(value: unknown): value is Point {
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'number');
}

function pointOf({ x, y }: Action): Point | null {
  return typeof x === 'number' && typeof y === 'number' ? [x, y] : null;
}

const DIRECTIONS: Record<string, Point> = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] };

/**
 * The points of a stroke, from its start to its end. A scroll points in the direction in which the view moves, a swipe in that of the finger.
 */
function strokeOf(action: Action, size: Size): Point[] | null {
  if (isPoint(action.from) && isPoint(action.to)) {
    const via = Array.isArray(action.via) ? action.via.filter(isPoint) : [];
    return [action.from, ...via, action.to];
  }
  const direction = DIRECTIONS[String(action.direction)];
  if (direction === undefined) return null;
  const [x, y] = pointOf(action) ?? [size.width / 2, size.height / 2];
  const length =
    typeof action.distance === 'number' ? action.distance : Math.min(size.width, size.height) * 0.35;
  return [
    [x, y],
    [x + direction[0] * length, y + direction[1] * length],
  ];
}

/** An action in a few words: `click 83, 41`, `type “milk”`, `drag 3, 5 → 80, 5 via 2 points`. */
export function describe(action: Action): string {
  const { modifiers, ...plain } = action;
  return Array.isArray(modifiers)
    ? `${modifiers.join(' + ')} + ${describePlain(plain)}`
    : describePlain(plain);
}

function describePlain(action: Action): string {
  const { action: name, ...rest } = action;
  const point = pointOf(action);
  if (name === 'type') return `type “${String(rest.text)}”`;
  if (name === 'key' && Array.isArray(rest.keys))
    return `key ${rest.keys.join(' + ')}${rest.seconds === undefined ? '' : ` for ${word(rest.seconds)} s`}`;
  if (name === 'button') return `button ${String(rest.button)}`;
  if (name === 'wait') return `wait ${String(rest.seconds)} s`;
  if (name === 'finish') return `finish: ${rest.success === true ? 'done' : 'failed'}`;
  if (isPoint(rest.from) && isPoint(rest.to)) {
    const via = Array.isArray(rest.via) ? ` via ${plural(rest.via.length, 'point')}` : '';
    return `${String(name)} ${rest.from.join(', ')} → ${rest.to.join(', ')}${via}`;
  }
  const words = [
    word(name).replace('_', ' '),
    word(rest.key),
    word(rest.direction),
    word(rest.amount),
  ].filter(Boolean);
  return `${words.join(' ')}${point === null ? '' : ` ${point.join(', ')}`}`;
}

function word(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
