import { isTooOld, oldestVersion, type StalenessBound } from '../training/staleness';
import type { Group, GroupBuffer } from './groups';
import type { IndexSet } from './index-set';

export interface BatchOptions {
  groupsPerBatch: number;
  /** Whether to train groups in order of their index instead of completion. */
  inOrder: boolean;
  /** Maximum number of groups without signal to replace per batch; 0 = take all as they are. */
  maxReplacedGroups: number;
  /** Whether training on the group would change the policy. */
  hasLearningSignal(group: Group): boolean;
  /** The tokens that may be trained on now. */
  bound: StalenessBound;
}

/** The groups of one step, and those to replace by others. */
export interface BatchPlan {
  kept: Group[];
  /**
   * The groups of `kept` to train on: if groups without signal are replaced, the remaining ones are excluded, unless
   * there are no others.
   */
  trained: Group[];
  /** Groups without learning signal. */
  replaced: Group[];
  /**
   * All groups that were played for the step and are not trained on: `replaced`, and those of `kept` that are not in
   * `trained`.
   */
  untrained: Group[];
  /** Groups without a single valid episode. */
  failed: Group[];
  /** Groups without a single token that may still be trained on. */
  tooOld: Group[];
  /** Whether `kept` has enough groups for a step. */
  ready: boolean;
}

/** Selects the groups of the next step among the complete ones. Deterministic: the same groups give the same plan. */
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

/** Groups without signal would only dilute the means of the others; a batch keeps at least one. */
function trainedOf(kept: readonly Group[], options: BatchOptions): Group[] {
  if (options.maxReplacedGroups === 0) return [...kept];
  const withSignal = kept.filter((group) => options.hasLearningSignal(group));
  return withSignal.length > 0 ? withSignal : kept.slice(0, 1);
}

function* candidates(buffer: GroupBuffer, settled: IndexSet, inOrder: boolean): Generator<Group> {
  if (!inOrder) {
    // Groups that expire first come first; at the same age, those that were completed first. Called after every
    // episode, so each group is scanned only once.
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
