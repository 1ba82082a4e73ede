import type { Datum, LossInput, ModelInputChunk } from '@ui-rl/plugin-kit';
import type { TurnSequence } from './turn-data';

/** Sequences to train, of which one may hold several turns. */
export interface MergedData {
  data: Datum[];
  /** Of each datum that was given: the one that holds it. Its positions are the first ones there. */
  owners: number[];
}

/**
 * Makes one sequence of turns that continue one another exactly: where the next prompt begins with all that an earlier turn read and sampled,
 * token by token and image by image. A causal model computes the same for each token then, once instead of once per turn. Others stay
 * sequences of their own, as where an answer begins with what was sampled before from the same prompt. The loss does not change: weights and
 * inputs of a turn stand at the positions they had.
 *
 * @param turns of each datum: its episode, as turns of different ones stay apart, and where its prompt ends
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

/** A number for each position: of a token, or of a place of an image. */
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

/** Whether `next` begins with what `before` read and sampled, its last token included. */
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

/** The longer of two, with what is known of the positions of both. */
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

/** What distributions were cut to, where they were: [L], and nothing at positions of other turns. */
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
