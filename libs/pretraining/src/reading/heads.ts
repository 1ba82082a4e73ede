import { ops, type Graph, type Value } from '@ui-rl/graph';
import { ELEMENT_KINDS } from '@ui-rl/page-generator';
import { CHARACTER_CLASSES } from './alphabet';

/** A classifier on image tokens with `count` outputs per token, each over `classes` classes. */
export interface Head {
  name: string;
  count: number;
  classes: number;
  /** Weight in the total loss. */
  weight: number;
  /** Initial total weight of all targets of class 0 ("nothing here"). */
  nothing: number;
}

/** Patches of an image token, and maximum characters per patch. */
export const PATCHES_PER_TOKEN = 4;
export const CHARACTERS_PER_PATCH = 3;
export const OFFSET_STEP = 4;
/** Offsets of a center from the token's own, in steps of 4 pixels: −80 … 80; class 0 is "no element here". */
export const OFFSETS = 41;
export const STATES = ['checked', 'selected', 'disabled', 'expanded', 'focused'] as const;

export function readingHeads(): Head[] {
  const characters = PATCHES_PER_TOKEN * CHARACTERS_PER_PATCH;
  return [
    { name: 'characters', count: characters, classes: CHARACTER_CLASSES, weight: 1, nothing: 1 },
    { name: 'kind', count: 1, classes: ELEMENT_KINDS.length + 1, weight: 0.6, nothing: 0.6 },
    { name: 'x', count: 1, classes: OFFSETS + 1, weight: 0.4, nothing: 0.2 },
    { name: 'y', count: 1, classes: OFFSETS + 1, weight: 0.4, nothing: 0.2 },
    { name: 'state', count: STATES.length, classes: 3, weight: 0.3, nothing: 0.1 },
  ];
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
