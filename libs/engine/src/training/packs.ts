import type { Family, Pack } from '@ui-rl/models';
import type { TrainingDatum } from './data';
import { planMicroBatches, type MicroBatchLimits } from './micro-batches';

/** Limit of a pack, whose scores grow quadratically. */
const MAX_TOKENS = 2048;

type Sequence = Pick<TrainingDatum, 'tokenIds' | 'images' | 'weights'>;

/** Sequences of one pass, by their indices. */
export interface PlannedPass {
  rows: number[];
  /** Of the pass's own sequences; undefined if none of the plan's share a prompt. */
  packs?: Pack[];
}

export interface PlanOptions {
  limits: MicroBatchLimits;
  /** Minimum number of passes, if there are enough sequences. Default 1. */
  minPasses?: number;
  /** Sequences with the same key share a pass, and none is packed. Default: each is independent. */
  bundleOf?: (row: number) => unknown;
}

/** Plans passes over sequences; those with the same prompt share a row, if the family can read such rows. */
export function planPasses(
  family: Pick<Family, 'packStep' | 'shape' | 'imageTokens'>,
  sequences: readonly Sequence[],
  { limits, minPasses = 1, bundleOf }: PlanOptions,
): PlannedPass[] {
  const { packStep: step = 1 } = family;
  const packs =
    family.packStep !== undefined && bundleOf === undefined
      ? packed(family, step, sequences)
      : sequences.map((_, row) => ({ rows: [row], shared: 0 }));
  const sizes = packs.map(({ rows, shared }) => ({
    tokenIds: { length: rows.reduce((sum, row) => sum + ownTokens(sequences[row], shared, step), shared) },
    images: rows.flatMap((row) => sequences[row].images),
  }));
  const isPacked = packs.some(({ rows }) => rows.length > 1);
  return planMicroBatches(sizes, limits, minPasses, bundleOf).map((chosen) => {
    const rows = chosen.flatMap((index) => packs[index].rows);
    if (!isPacked) return { rows };
    const places = new Map(rows.map((row, place) => [row, place]));
    const own = chosen.map((index): Pack => ({
      rows: packs[index].rows.map((row) => places.get(row)!),
      shared: packs[index].shared,
    }));
    return { rows, packs: own };
  });
}

/**
 * Packs sequences with the same prompt: episodes of a group begin with the same screen. The prompt's last token, which
 * predicts the first one of an answer, belongs to each answer (Prefix Grouper, arXiv:2506.05433), and so do those
 * after the last multiple of `step`. A pack is at most twice as long as its prompt, because its sequences also cost
 * attention scores among each other.
 */
function packed(
  family: Pick<Family, 'shape' | 'imageTokens'>,
  step: number,
  sequences: readonly Sequence[],
): Pack[] {
  const packs: { rows: number[]; shared: number; tokens: number }[] = [];
  const open = new Map<string, number>();
  sequences.forEach((sequence, row) => {
    const shared = Math.floor(promptTokens(sequence) / step) * step;
    const rest = ownTokens(sequence, shared, step);
    const key = promptKey(family, sequence, shared);
    const index = open.get(key);
    if (index !== undefined && packs[index].tokens + rest <= Math.min(2 * shared, MAX_TOKENS)) {
      packs[index].rows.push(row);
      packs[index].tokens += rest;
    } else {
      open.set(key, packs.length);
      packs.push({ rows: [row], shared, tokens: shared + rest });
    }
  });
  return packs.map(({ rows, shared }) => ({ rows, shared: rows.length === 1 ? 0 : shared }));
}

/** Number of a sequence's tokens in its pack besides the shared ones, with the padding after them. */
function ownTokens({ tokenIds }: Sequence, shared: number, step: number): number {
  return Math.ceil((tokenIds.length - shared) / step) * step;
}

/** Number of tokens before the first position that predicts a trained one. */
function promptTokens({ weights }: Sequence): number {
  return Array.prototype.findIndex.call(weights, (weight: number) => weight !== 0);
}

/** The same for the same first tokens and images. */
function promptKey(
  { shape, imageTokens }: Pick<Family, 'shape' | 'imageTokens'>,
  { tokenIds, images }: Sequence,
  count: number,
): string {
  const tokens = Array.from(tokenIds).slice(0, count);
  let placeholders = tokens.filter((id) => id === shape.imageTokenId).length;
  const shown: string[] = [];
  for (const image of images) {
    if (placeholders <= 0) break;
    placeholders -= imageTokens(image);
    shown.push(image.key);
  }
  return JSON.stringify([tokens, shown]);
}
