import { ops, type Graph, type Value } from '@ui-rl/graph';
import { COLOR_NAMES, ELEMENT_KINDS, ICON_NAMES, SHAPE_NAMES } from '@ui-rl/page-generator';
import { CHARACTER_CLASSES } from './alphabet';

/** A classifier with `count` outputs per row of its level, each over `classes` classes. */
export interface Head {
  name: string;
  /** Rows that the head classifies: image tokens, or the patches of which the merger makes them. */
  level: 'token' | 'patch';
  count: number;
  classes: number;
  /** Weight in the total loss while empty targets are balanced, and afterwards. */
  weight: number;
  laterWeight: number;
  /** Initial total weight of all targets of class 0 ("nothing here"). */
  nothing: number;
}

/** Patches of an image token, and maximum characters per patch. */
export const PATCHES_PER_TOKEN = 4;
export const CHARACTERS_PER_PATCH = 3;
export const OFFSET_STEP = 4;
/** Offsets of a center from the token's own, in steps of 4 pixels: −80 … 80; class 0 is "no element here". */
export const OFFSETS = 41;
/** Maximum rows and columns of image tokens. */
export const PLACES = 32;
/** Attributes of elements with their values; class 0 is "none". */
export const ATTRIBUTES = { color: COLOR_NAMES, shape: SHAPE_NAMES, icon: ICON_NAMES };
export const STATES = ['checked', 'selected', 'disabled', 'expanded', 'focused'] as const;

/**
 * Characters are classified twice: by patch with one set of weights, which learns in fewer steps, and by token, so that
 * the merger keeps them for the decoder. Kinds, states and looks weigh little until most characters are read.
 */
export function readingHeads(): Head[] {
  const characters = { classes: CHARACTER_CLASSES, weight: 1, laterWeight: 1, nothing: 1 };
  return [
    { name: 'local', level: 'patch', count: CHARACTERS_PER_PATCH, ...characters },
    { name: 'characters', level: 'token', count: PATCHES_PER_TOKEN * CHARACTERS_PER_PATCH, ...characters },
    one('kind', ELEMENT_KINDS.length + 1, { weight: 0.3, laterWeight: 0.8, nothing: 0.6 }),
    one('x', OFFSETS + 1, { weight: 0.2, laterWeight: 0.3, nothing: 0.2 }),
    one('y', OFFSETS + 1, { weight: 0.2, laterWeight: 0.3, nothing: 0.2 }),
    {
      ...one('state', 3, { weight: 0.15, laterWeight: 0.6, nothing: 0.1 }),
      count: STATES.length,
    },
    ...Object.entries(ATTRIBUTES).map(([name, { length }]) =>
      one(name, length + 1, { weight: 0.1, laterWeight: 0.3, nothing: 0.2 }),
    ),
    // The decoder, which sees positions relative to each other only, needs them to name coordinates.
    one('row', PLACES + 1, { weight: 0.1, laterWeight: 0.1, nothing: 0.1 }),
    one('column', PLACES + 1, { weight: 0.1, laterWeight: 0.1, nothing: 0.1 }),
  ];
}

/** A head with one output per image token. */
function one(name: string, classes: number, weights: Pick<Head, 'weight' | 'laterWeight' | 'nothing'>): Head {
  return { name, level: 'token', count: 1, classes, ...weights };
}

/** Outputs of a head per image token. */
export function outputsPerToken({ level, count }: Head): number {
  return level === 'patch' ? count * PATCHES_PER_TOKEN : count;
}

export function headWeight({ name }: Head): string {
  return `heads.${name}.weight`;
}

export function headBias({ name }: Head): string {
  return `heads.${name}.bias`;
}

/** Output of one head: log-probabilities [rows · count, classes] of features [rows, width]. */
export function headLogProbs(
  graph: Graph,
  head: Head,
  features: Value,
  width: number,
  /** receives the weights of the head */
  inputs: Map<string, Value>,
): Value {
  const outputs = head.count * head.classes;
  const weight = graph.input(headWeight(head), 'float32', [outputs, width]);
  const bias = graph.input(headBias(head), 'float32', [outputs]);
  inputs.set(headWeight(head), weight).set(headBias(head), bias);
  const logits = ops.linear(features, weight, bias);
  return ops.logSoftmax(ops.reshape(logits, [`${String(features.shape[0])}*${head.count}`, head.classes]), 1);
}
