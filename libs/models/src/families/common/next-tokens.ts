import type { TrainerRow } from '../base';

/** A sequence whose tokens from index `first` on are each predicted from the previous position. */
export function predictingNext(
  tokenIds: readonly number[],
  first = 1,
): Pick<TrainerRow, 'tokenIds' | 'targets' | 'selected'> {
  const last = tokenIds.length - 1;
  return {
    tokenIds,
    targets: tokenIds.map((_, position) => (position < last ? tokenIds[position + 1] : 0)),
    selected: tokenIds.map((_, position) => Number(position < last && position + 1 >= first)),
  };
}
