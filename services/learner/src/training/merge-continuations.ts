import type { Datum, LossInput, ModelInputChunk } from '@ui-rl/plugin-kit';
import type { TurnSequence } from './turn-data';

/** Sequences to train on, each of which may contain several turns. */
export interface MergedData {
  data: Datum[];
  /** For each given datum, the index of the one that contains it, starting at its first position. */
  owners: number[];
}

/**
 * Merges turns that continue one another exactly into one sequence: if the next prompt begins with everything that an
 * earlier turn read and sampled, token by token and image by image. A causal model then computes the same for each
 * token, once instead of once per turn. Others stay separate sequences, for example if an answer begins with one that
 * was sampled earlier from the same prompt. The loss does not change: weights and inputs of a turn keep their
 * positions.
 *
 * @param turns of each datum: its episode, because turns of different ones stay separate, and the end of its prompt
 */
export function mergeContinuations(
  data: readonly Datum[],
  turns: readonly Pick<TurnSequence, 'rolloutId' | 'first'>[],
): MergedData {
  const merged: { datum: Datum; rolloutId: string; content: Content }[] = [];
  const owners = data.map((datum, index) => {
    const { rolloutId, first } = turns[index];
    const content = contentOf(datum.modelInput.chunks);
    const before = merged.findIndex(
      (each) =>
        each.rolloutId === rolloutId &&
        first >= each.content.length &&
        continues(each.datum, each.content, datum, content),
    );
    if (before < 0) return merged.push({ datum, rolloutId, content }) - 1;
    merged[before] = { datum: added(merged[before].datum, datum), rolloutId, content };
    return before;
  });
  return { data: merged.map(({ datum }) => datum), owners };
}

/** A value for each position: of a token, or of an image placeholder. */
type Content = (number | string)[];

function contentOf(chunks: readonly ModelInputChunk[]): Content {
  const content: Content = [];
  let place = 0;
  for (const chunk of chunks) {
    if (chunk.type === 'text') content.push(...Array.from(chunk.tokens));
    else {
      if (chunk.continues !== true) place = 0;
      for (let index = 0; index < chunk.tokens; index += 1) content.push(`${chunk.sha256} ${place++}`);
    }
  }
  return content;
}

/** Whether `next` begins with everything that `before` read and sampled, including its last token. */
function continues(before: Datum, read: Content, next: Datum, content: Content): boolean {
  const { length } = read;
  return (
    content.length > length &&
    before.temperature === next.temperature &&
    before.sequence === next.sequence &&
    before.pair?.id === next.pair?.id &&
    before.pair?.side === next.pair?.side &&
    content[length] === before.targetTokens[length - 1] &&
    read.every((each, index) => each === content[index])
  );
}

/** The longer of two, with the data of both positions. */
function added(before: Datum, next: Datum): Datum {
  const inputs = Object.entries(next.lossInputs ?? {}).map(([name, values]): [string, ArrayLike<number>] => [
    name,
    sumOf(before.lossInputs?.[name as LossInput], values),
  ]);
  return {
    ...next,
    weights: sumOf(before.weights, next.weights),
    ...(next.lossInputs === undefined ? {} : { lossInputs: Object.fromEntries(inputs) }),
    ...keptOf(before, next),
  };
}

/** Kept tokens of cut distributions: [L], empty at positions of other turns. */
function keptOf(before: Datum, next: Datum): Pick<Datum, 'keptTokens'> {
  if (before.keptTokens === undefined && next.keptTokens === undefined) return {};
  const none: number[] = [];
  const own = (kept: readonly ArrayLike<number>[] | undefined, index: number) => kept?.[index] ?? none;
  const length = next.targetTokens.length;
  const keptTokens = Array.from({ length }, (_, index) => {
    const last = own(next.keptTokens, index);
    return last.length > 0 ? last : own(before.keptTokens, index);
  });
  return { keptTokens };
}

/** Positions of a turn are 0 in all others. */
function sumOf(before: ArrayLike<number> | undefined, next: ArrayLike<number>): Float32Array {
  const sum = Float32Array.from(next);
  if (before !== undefined)
    for (let index = 0; index < before.length; index += 1) sum[index] += before[index];
  return sum;
}
