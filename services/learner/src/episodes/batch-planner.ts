import { isTooOld, oldestVersion, type StalenessBound } from '../training/staleness';
import type { Group, GroupBuffer } from './groups';
import type { IndexSet } from './index-set';

export interface BatchOptions {
  groupsPerBatch: number;
  /** Train groups in order of their index instead of completion. */
  inOrder: boolean;
  /** Groups without signal that are replaced by others per batch; 0 = all are taken as they are. */
  maxReplacedGroups: number;
  /** Whether training on the group would change anything. */
  hasLearningSignal(group: Group): boolean;
  /** What may be trained now. */
  bound: StalenessBound;
}

/** Groups for one step, and those that others are to take the place of. */
export interface BatchPlan {
  kept: Group[];
  /** Those of `kept` that are trained: where groups without signal are replaced, what is left of them is not, unless no other is there. */
  trained: Group[];
  /** Without learning signal. */
  replaced: Group[];
  /** All that were played for the step and are not trained: `replaced`, and those of `kept` that are not in `trained`. */
  untrained: Group[];
  /** Without a single valid episode. */
  failed: Group[];
  /** Without a single token that may still be trained. */
  tooOld: Group[];
  /** `kept` holds as many groups as a step needs. */
  ready: boolean;
}

/** Chooses the groups of the next step among the complete ones. The same groups give the same plan. */
export function planBatch(buffer: GroupBuffer, settled: IndexSet, options: BatchOptions): BatchPlan {
  const kept: Group[] = [];
  const replaced: Group[] = [];
  const failed: Group[] = [];
  const tooOld: Group[] = [];
  for (const group of candidates(buffer, settled, options.inOrder)) {
    if (group.valid === 0) failed.push(group);
    else if (isTooOld(group, options.bound)) tooOld.push(group);
    else if (replaced.length < options.maxReplacedGroups && !options.hasLearningSignal(group))
      replaced.push(group);
    else kept.push(group);
    if (kept.length === options.groupsPerBatch) break;
  }
  const trained = trainedOf(kept, options);
  return {
    kept,
    trained,
    replaced,
    untrained: [...replaced, ...kept.filter((group) => !trained.includes(group))],
    failed,
    tooOld,
    ready: kept.length === options.groupsPerBatch,
  };
}

/** Groups without signal would only dilute the means of the others; a batch keeps one at least. */
function trainedOf(kept: readonly Group[], options: BatchOptions): Group[] {
  if (options.maxReplacedGroups === 0) return [...kept];
  const withSignal = kept.filter((group) => options.hasLearningSignal(group));
  return withSignal.length > 0 ? withSignal : kept.slice(0, 1);
}

function* candidates(buffer: GroupBuffer, settled: IndexSet, inOrder: boolean): Generator<Group> {
  if (!inOrder) {
    // Those first that would be too old first; of the same age those that were complete first. Asked after every episode: each group is
    // looked through once.
    const aged = buffer.complete().map((group) => ({ group, oldest: oldestVersion(group) }));
    for (const { group } of aged.toSorted((a, b) => a.oldest - b.oldest)) yield group;
    return;
  }
  for (let index = settled.firstMissing; ; index += 1) {
    if (settled.has(index)) continue;
    const group = buffer.completeAt(index);
    if (group === undefined) return;
    yield group;
  }
}
