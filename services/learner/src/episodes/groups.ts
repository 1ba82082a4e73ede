import { RolloutRequest, type Trajectory } from '@ui-rl/contracts';

/** What becomes of a trajectory that has arrived. */
export type AddResult =
  /** The run is over, it belongs to a group that is settled, or another attempt already took its slot: nothing is left to do. */
  | { kind: 'redundant' }
  /** It waits in its group until the group is settled. */
  | { kind: 'waiting'; settled: Promise<void> }
  /** The episode does not count; it is to be played again under the new id. */
  | { kind: 'refill'; request: RolloutRequest };

interface Member {
  trajectory: Trajectory;
  settled: Promise<void>;
  settle(): void;
}

/** Episodes of one task and seed, as they come in. */
export class Group {
  private readonly members = new Map<number, Member>();
  /** Members that failed in the infrastructure too often and stay out. */
  private readonly abandoned = new Map<number, Member>();
  /** Rollout ids of its invalid episodes so far. */
  private readonly invalidEpisodes = new Set<string>();

  constructor(
    readonly index: number,
    readonly id: string,
    readonly size: number,
  ) {}

  /** Invalid episodes so far. */
  get invalid(): number {
    return this.invalidEpisodes.size;
  }

  get complete(): boolean {
    return this.members.size + this.abandoned.size >= this.size;
  }

  /** Valid episodes, in order of their index in the group. */
  get trajectories(): Trajectory[] {
    return [...this.members.values()]
      .map(({ trajectory }) => trajectory)
      .sort((a, b) => a.request.indexInGroup - b.request.indexInGroup);
  }

  get rewards(): number[] {
    return this.trajectories.map(({ reward }) => reward);
  }

  find(indexInGroup: number): Member | undefined {
    return this.members.get(indexInGroup) ?? this.abandoned.get(indexInGroup);
  }

  /** A message that comes again counts once. */
  countInvalid({ request }: Trajectory): void {
    this.invalidEpisodes.add(request.rolloutId);
  }

  add(trajectory: Trajectory, valid: boolean): Member {
    let settle: () => void = () => undefined;
    const settled = new Promise<void>((resolve) => (settle = resolve));
    const member = { trajectory, settled, settle };
    (valid ? this.members : this.abandoned).set(trajectory.request.indexInGroup, member);
    return member;
  }

  /** Lets the messages of the group be acknowledged. */
  settle(): void {
    for (const member of [...this.members.values(), ...this.abandoned.values()]) member.settle();
  }
}

export interface GroupBufferOptions {
  /** Attempts at one episode, the first included, before its slot in the group stays empty. */
  maxAttempts: number;
  isSettled(groupIndex: number): boolean;
}

/** Groups that are not yet trained. A message that arrives twice is recognised by its rollout id. */
export class GroupBuffer {
  private readonly open = new Map<number, Group>();
  /** Indices of complete groups, in order of completion. */
  private readonly completed: number[] = [];
  private closed = false;

  constructor(private readonly options: GroupBufferOptions) {}

  /** @param valid whether the episode may be trained on */
  add(trajectory: Trajectory, valid: boolean): AddResult {
    const { request } = trajectory;
    if (this.closed || this.options.isSettled(request.groupIndex)) return { kind: 'redundant' };
    const group = this.groupOf(request);
    const known = group.find(request.indexInGroup);
    if (known !== undefined) {
      const same = known.trajectory.request.rolloutId === request.rolloutId;
      return same ? { kind: 'waiting', settled: known.settled } : { kind: 'redundant' };
    }
    if (!valid) group.countInvalid(trajectory);
    if (!valid && request.attempt + 1 < this.options.maxAttempts) {
      return { kind: 'refill', request: nextAttempt(request) };
    }
    const { settled } = group.add(trajectory, valid);
    if (group.complete) this.completed.push(group.index);
    return { kind: 'waiting', settled };
  }

  /** Complete groups in order of completion. */
  complete(): Group[] {
    return this.completed.map((index) => this.open.get(index) as Group);
  }

  /** The group of that index where it is complete. */
  completeAt(index: number): Group | undefined {
    return this.completed.includes(index) ? this.open.get(index) : undefined;
  }

  /** Forgets groups whose effect is durable and lets their messages be acknowledged. */
  settle(groups: readonly Group[]): void {
    for (const group of groups) {
      this.open.delete(group.index);
      this.completed.splice(this.completed.indexOf(group.index), 1);
      group.settle();
    }
  }

  /** Episodes and invalid ones of the groups that are not settled. */
  get counts(): { trajectories: number; invalid: number } {
    let [trajectories, invalid] = [0, 0];
    for (const group of this.open.values()) {
      trajectories += group.trajectories.length + group.invalid;
      invalid += group.invalid;
    }
    return { trajectories, invalid };
  }

  /** The end of a run: releases all messages, and those that still come. */
  close(): void {
    this.closed = true;
    for (const group of this.open.values()) group.settle();
    this.open.clear();
    this.completed.length = 0;
  }

  private groupOf(request: RolloutRequest): Group {
    let group = this.open.get(request.groupIndex);
    if (group === undefined) {
      group = new Group(request.groupIndex, request.groupId, request.groupSize);
      this.open.set(request.groupIndex, group);
    }
    return group;
  }
}

/** The same episode once more: same seeds, an id of its own. */
export function nextAttempt(request: RolloutRequest): RolloutRequest {
  const attempt = request.attempt + 1;
  const rolloutId = `${request.groupId}-r${request.indexInGroup}-a${attempt}`;
  return Object.assign(new RolloutRequest(), request, { attempt, rolloutId });
}

/** What a run's training episodes have in common. */
export interface RequestedGroups {
  runId: string;
  groupSize: number;
  /** Groups requested so far; their indices are below. */
  groups: number;
}

/** Why an episode was not requested by this run; undefined where it was. */
export function unsolicitedRequest(request: RolloutRequest, requested: RequestedGroups): string | undefined {
  const { runId, purpose, groupIndex, groupSize, indexInGroup } = request;
  if (runId !== requested.runId) return `it is of run "${runId}", this learner serves ${requested.runId}`;
  if (purpose !== 'train') return `its purpose is "${purpose}", expected "train"`;
  if (groupSize !== requested.groupSize || indexInGroup >= groupSize) {
    return `it is number ${indexInGroup} of a group of ${groupSize}, groups of this run have ${requested.groupSize}`;
  }
  if (groupIndex < requested.groups) return undefined;
  return `it is of group ${groupIndex}, but only ${requested.groups} were requested so far (0 to ${requested.groups - 1})`;
}
