import type { Group, GroupBuffer } from './groups';

export interface BatchOptions {
  groupsPerBatch: number;
  /** Train groups in order of their index instead of completion. */
  inOrder: boolean;
  /** Groups without signal that are replaced by others per batch; 0 = all are taken as they are. */
  maxReplacedGroups: number;
  /** Whether training on the group would change anything. */
  hasLearningSignal(group: Group): boolean;
}

/** Groups for one step, and those that were dropped on the way because they carry no learning signal. */
export interface BatchPlan {
  kept: Group[];
  /** Without signal, or without a single valid episode. */
  replaced: Group[];
  /** `kept` holds as many groups as a step needs. */
  ready: boolean;
}

/** Chooses the groups of the next step among the complete ones. The same groups give the same plan. */
export function planBatch(buffer: GroupBuffer, firstIndex: number, options: BatchOptions): BatchPlan {
  const kept: Group[] = [];
  const replaced: Group[] = [];
  let withoutSignal = 0;
  for (const group of candidates(buffer, firstIndex, options.inOrder)) {
    if (group.trajectories.length === 0) {
      replaced.push(group);
    } else if (!options.hasLearningSignal(group) && withoutSignal < options.maxReplacedGroups) {
      withoutSignal += 1;
      replaced.push(group);
    } else {
      kept.push(group);
    }
    if (kept.length === options.groupsPerBatch) break;
  }
  return { kept, replaced, ready: kept.length === options.groupsPerBatch };
}

function* candidates(buffer: GroupBuffer, firstIndex: number, inOrder: boolean): Generator<Group> {
  if (!inOrder) {
    yield* buffer.complete();
    return;
  }
  for (let index = firstIndex; ; index += 1) {
    const group = buffer.completeAt(index);
    if (group === undefined) return;
    yield group;
  }
}
