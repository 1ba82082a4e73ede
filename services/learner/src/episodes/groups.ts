import { isDeepStrictEqual } from 'node:util';
import { RolloutRequest, Trajectory, type Task } from '@ui-rl/contracts';

/** The outcome for a received trajectory. */
export type AddResult =
  /** The run is over, the group is settled, or another attempt already took its slot: nothing to do. */
  | { kind: 'redundant' }
  /** It waits until its group is settled, or until it is played again. */
  | {
      kind: 'waiting';
      /** Rejects if the group became a dead letter. */
      settled: Promise<void>;
      /** Invalid episodes of the group to play again now, possibly including this one. */
      refills: Refill[];
    };

/** An episode to play again. */
export interface Refill {
  request: RolloutRequest;
  /** Why the previous one is invalid. */
  reason: string;
  /** Call this when the new request is published: the message of the previous one can then be acknowledged. */
  published: () => void;
}

interface Member {
  trajectory: Trajectory;
  /** Why it is invalid; undefined if it is valid. */
  problem: string | undefined;
  settled: Promise<void>;
  settle: () => void;
  refuse: (error: Error) => void;
}

/** Episodes of one task and seed, as they arrive. */
export class Group {
  private readonly members = new Map<number, Member>();
  /** Members that failed in the infrastructure too often and stay empty. */
  private readonly abandoned = new Map<number, Member>();
  /** Members whose last episode is invalid and that wait for another attempt. */
  private readonly held = new Map<number, Member>();
  /** Rollout ids of its invalid episodes so far. */
  private readonly invalidEpisodes = new Set<string>();
  private lastProblem: string | undefined;

  constructor(
    readonly index: number,
    readonly id: string,
    readonly size: number,
    readonly task: Task,
    /**
     * Whether it was sampled for an earlier batch, or for another run: such samples are not compared with the trained
     * policy.
     */
    readonly isReplayed = false,
  ) {}

  /** A complete group of stored episodes. */
  static replayed(index: number, id: string, trajectories: readonly Trajectory[]): Group {
    const group = new Group(index, id, trajectories.length, trajectories[0].request.task, true);
    for (const [indexInGroup, trajectory] of trajectories.entries()) {
      const request = Object.assign(new RolloutRequest(), trajectory.request, { indexInGroup });
      group.add(Object.assign(new Trajectory(), trajectory, { request }));
    }
    return group;
  }

  /** Number of invalid episodes so far. */
  get invalid(): number {
    return this.invalidEpisodes.size;
  }

  /** Why the last invalid episode was rejected. */
  get problem(): string | undefined {
    return this.lastProblem;
  }

  get complete(): boolean {
    return this.members.size + this.abandoned.size >= this.size;
  }

  /** Number of episodes with unacknowledged messages. */
  get waiting(): number {
    return this.all.length;
  }

  /** The request of one of its members. */
  get request(): RolloutRequest | undefined {
    return this.all[0]?.trajectory.request;
  }

  /** Whether every member was attempted without a valid episode. */
  get failedThroughout(): boolean {
    return this.members.size === 0 && this.held.size + this.abandoned.size >= this.size;
  }

  /** Number of valid episodes. */
  get valid(): number {
    return this.members.size;
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

  /** The attempt that occupies a member's slot, or waits for another one. */
  find(indexInGroup: number): Member | undefined {
    return this.members.get(indexInGroup) ?? this.abandoned.get(indexInGroup) ?? this.held.get(indexInGroup);
  }

  /** Whether a member's slot is taken permanently. */
  isTaken(indexInGroup: number): boolean {
    return this.members.has(indexInGroup) || this.abandoned.has(indexInGroup);
  }

  /** @param problem why it is invalid; undefined if it is valid */
  add(trajectory: Trajectory, problem?: string): Member {
    return this.put(problem === undefined ? this.members : this.abandoned, trajectory, problem);
  }

  /** Holds an invalid episode until it is known whether another attempt is worthwhile. */
  hold(trajectory: Trajectory, problem: string): Member {
    return this.put(this.held, trajectory, problem);
  }

  /** The next attempts for held episodes. */
  takeHeld(): Refill[] {
    const refills = [...this.held.values()].map(({ trajectory, problem, settle }) => ({
      request: nextAttempt(trajectory.request),
      reason: problem!,
      published: settle,
    }));
    this.held.clear();
    return refills;
  }

  /** Ends the attempts for held episodes. */
  abandonHeld(): void {
    for (const [index, member] of this.held) this.abandoned.set(index, member);
    this.held.clear();
  }

  /** Allows the messages of the group to be acknowledged. */
  settle(): void {
    for (const member of this.all) member.settle();
  }

  /** Turns its valid episodes into dead letters. */
  refuse(error: Error): void {
    for (const member of this.members.values()) member.refuse(error);
    this.settle();
  }

  private get all(): Member[] {
    return [this.members, this.abandoned, this.held].flatMap((members) => [...members.values()]);
  }

  private put(place: Map<number, Member>, trajectory: Trajectory, problem: string | undefined): Member {
    const { indexInGroup, rolloutId } = trajectory.request;
    // An earlier attempt, whose message was redelivered after its successor was requested.
    this.held.get(indexInGroup)?.settle();
    this.held.delete(indexInGroup);
    if (problem !== undefined) {
      // A redelivered message counts once.
      this.invalidEpisodes.add(rolloutId);
      this.lastProblem = problem;
    }
    const { promise, resolve, reject } = withResolvers();
    const member = { trajectory, problem, settled: promise, settle: resolve, refuse: reject };
    place.set(indexInGroup, member);
    return member;
  }
}

export interface GroupBufferOptions {
  /** Maximum number of attempts at one episode, including the first, before its slot in the group stays empty. */
  maxAttempts: number;
  isSettled(groupIndex: number): boolean;
  /** Whether a group in which every member has failed is not worth further attempts. */
  isHopeless(group: Group): boolean;
}

/**
 * Groups that are not yet trained on. Recognizes redelivered messages by their rollout ids. While a group has no
 * valid episode, an episode is played again only after every member was attempted, so that an unplayable group does
 * not occupy slots for all of its attempts.
 */
export class GroupBuffer {
  private readonly open = new Map<number, Group>();
  /** Indices of complete groups, in order of completion. */
  private readonly completed: number[] = [];
  private closed = false;

  constructor(private readonly options: GroupBufferOptions) {}

  /** @param problem why the episode may not be trained on; undefined if it may */
  add(trajectory: Trajectory, problem?: string): AddResult {
    const { request } = trajectory;
    if (this.closed || this.options.isSettled(request.groupIndex)) return { kind: 'redundant' };
    const group = this.groupOf(request);
    const known = group.find(request.indexInGroup);
    if (known?.trajectory.request.rolloutId === request.rolloutId) {
      return { kind: 'waiting', settled: known.settled, refills: [] };
    }
    if (group.isTaken(request.indexInGroup) || request.attempt < (known?.trajectory.request.attempt ?? 0)) {
      return { kind: 'redundant' };
    }
    const isLast = request.attempt + 1 >= this.options.maxAttempts;
    const member =
      problem === undefined || isLast ? group.add(trajectory, problem) : group.hold(trajectory, problem);
    const refills = this.refillsOf(group);
    if (group.complete && !this.completed.includes(group.index)) this.completed.push(group.index);
    return { kind: 'waiting', settled: member.settled, refills };
  }

  /** Complete groups in order of completion. */
  complete(): Group[] {
    return this.completed.map((index) => this.open.get(index) as Group);
  }

  /** The group of that index, if it is complete. */
  completeAt(index: number): Group | undefined {
    return this.completed.includes(index) ? this.open.get(index) : undefined;
  }

  /** Removes groups whose effect is durable and allows their messages to be acknowledged. */
  settle(groups: readonly Group[]): void {
    for (const group of groups) this.forget(group).settle();
  }

  /** Removes groups that cannot be trained on; their episodes become dead letters with that reason. */
  refuse(groups: readonly Group[], error: Error): void {
    for (const group of groups) this.forget(group).refuse(error);
  }

  /** Members of a group without an episode or a pending attempt here: their episodes are being played, or lost. */
  missing(groupIndex: number, groupSize: number): number[] {
    const group = this.open.get(groupIndex);
    const members = Array.from({ length: groupSize }, (_, index) => index);
    return members.filter((index) => group?.find(index) === undefined);
  }

  /** The request of any received episode of a group. */
  requestOf(groupIndex: number): RolloutRequest | undefined {
    return this.open.get(groupIndex)?.request;
  }

  /** The groups of these indices with at least one received episode. */
  openAt(groupIndices: readonly number[]): Group[] {
    return groupIndices.flatMap((index) => this.open.get(index) ?? []);
  }

  /** Number of episodes with unacknowledged messages. */
  get waiting(): number {
    return [...this.open.values()].reduce((sum, group) => sum + group.waiting, 0);
  }

  /** Numbers of all and of invalid episodes in unsettled groups. */
  get counts(): { trajectories: number; invalid: number } {
    let [trajectories, invalid] = [0, 0];
    for (const group of this.open.values()) {
      trajectories += group.valid + group.invalid;
      invalid += group.invalid;
    }
    return { trajectories, invalid };
  }

  /** Ends the run: releases all messages, including later ones. */
  close(): void {
    this.closed = true;
    for (const group of this.open.values()) group.settle();
    this.open.clear();
    this.completed.length = 0;
  }

  private refillsOf(group: Group): Refill[] {
    if (group.valid > 0) return group.takeHeld();
    if (!group.failedThroughout) return [];
    if (!this.options.isHopeless(group)) return group.takeHeld();
    group.abandonHeld();
    return [];
  }

  private forget(group: Group): Group {
    this.open.delete(group.index);
    const place = this.completed.indexOf(group.index);
    if (place >= 0) this.completed.splice(place, 1);
    return group;
  }

  private groupOf({ groupIndex, groupId, groupSize, task }: RolloutRequest): Group {
    let group = this.open.get(groupIndex);
    if (group === undefined) {
      group = new Group(groupIndex, groupId, groupSize, task);
      this.open.set(groupIndex, group);
    }
    return group;
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } {
  let resolve: () => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<void>((settle, refuse) => {
    resolve = settle;
    reject = refuse;
  });
  // There may be no listener.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

/** Maximum number of repeated requests for a lost episode before its group is abandoned. */
export const MAX_REQUESTS = 2;

/** The same episode with the same seeds and a new id. */
export function nextAttempt(request: RolloutRequest): RolloutRequest {
  return memberRollout(request, request.attempt + 1);
}

/** An episode of the same member of a group, with this attempt number. */
export function memberRollout(request: RolloutRequest, attempt: number): RolloutRequest {
  const rolloutId = `${request.groupId}-r${request.indexInGroup}-a${attempt}`;
  return Object.assign(new RolloutRequest(), request, { attempt, rolloutId });
}

/**
 * Why an episode does not belong to its group, whose episodes all have one task and seed; undefined if it does.
 * Actors report themselves what they played: rewards of other tasks must not be compared with those of the group.
 *
 * @param other request of another episode of the group, if any
 */
export function foreignRequest(
  request: RolloutRequest,
  other: RolloutRequest | undefined,
): string | undefined {
  if (other === undefined) return undefined;
  const { groupId, seed, task } = request;
  if (groupId !== other.groupId)
    return `it is of group "${groupId}", the others of its number are of "${other.groupId}"`;
  if (seed !== other.seed) return `its seed is ${seed}, that of its group ${other.seed}`;
  if (isDeepStrictEqual(plain(task), plain(other.task))) return undefined;
  return `its task "${task.id}" is not the task "${other.task.id}" of its group, or is described otherwise`;
}

function plain(task: Task): unknown {
  return JSON.parse(JSON.stringify(task));
}

/** Common properties of a run's training episodes. */
export interface RequestedGroups {
  runId: string;
  groupSize: number;
  /** Number of groups requested so far, which exceeds all valid indices. */
  groups: number;
}

/** Why an episode was not requested by this run; undefined if it was. */
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
