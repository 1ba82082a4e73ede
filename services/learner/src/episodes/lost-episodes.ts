import { Logger } from '@nestjs/common';
import type { BusService } from '@ui-rl/bus';
import { RolloutRequest, samplingSeed, subjects } from '@ui-rl/contracts';
import { OwedEpisodes } from '@ui-rl/service';
import type { Progress } from '../training/progress';
import type { RunWarnings } from '../warnings';
import { MAX_REQUESTS, type GroupBuffer } from './groups';
import { trajectoryConsumer } from './intake';

export interface LostEpisodesParts {
  runId: string;
  bus: BusService;
  options: { groupSize: number; maxAttempts: number; seed: number };
  buffer: GroupBuffer;
  progress: Progress;
  warnings: RunWarnings;
  /** Whether training has ended. */
  isOver: () => boolean;
}

/** Abandons groups; others are requested in their place. */
type Abandon = (groupIndices: readonly number[]) => void;

/** A member of a group whose episode was requested and did not arrive. */
interface OwedMember {
  group: number;
  member: number;
}

/** Finds released training episodes that are lost: requests them again, or abandons their group. */
export class LostEpisodes {
  private readonly logger = new Logger('learner');
  /** Number of repeated requests for a lost episode, by group and member. */
  private readonly requests = new Map<string, number>();
  private readonly owed: OwedEpisodes<OwedMember>;
  private abandon: Abandon = () => undefined;

  constructor(
    private readonly parts: LostEpisodesParts,
    everyMs?: number,
  ) {
    const { bus, runId } = parts;
    this.owed = new OwedEpisodes<OwedMember>(
      {
        bus,
        runId,
        purposes: ['train'],
        durableOf: () => trajectoryConsumer(runId),
        owed: () => this.owedMembers(),
        keyOf: ({ groupIndex, indexInGroup }) => keyOf({ group: groupIndex, member: indexInGroup }),
        held: () => parts.buffer.waiting,
        lost: (members) => this.recover(members),
      },
      everyMs,
    );
  }

  /** Checks periodically, until the signal aborts. */
  watch(signal: AbortSignal, abandon: Abandon): Promise<void> {
    this.abandon = abandon;
    return this.owed.watch(signal);
  }

  private async owedMembers(): Promise<Map<string, OwedMember>> {
    const { bus, runId, options, progress, buffer, isOver } = this.parts;
    const owed = new Map<string, OwedMember>();
    const released = (await bus.runs.loader(runId))?.groupsReleased ?? 0;
    if (isOver()) return owed;
    for (let group = progress.settled.firstMissing; group < released; group += 1) {
      if (progress.settled.has(group)) continue;
      for (const member of buffer.missing(group, options.groupSize)) {
        owed.set(keyOf({ group, member }), { group, member });
      }
    }
    return owed;
  }

  private async recover(members: readonly OwedMember[]): Promise<void> {
    const again: RolloutRequest[] = [];
    const hopeless = new Set<number>();
    for (const owed of members) {
      const request = this.nextRequest(owed);
      if (request === undefined) hopeless.add(owed.group);
      else again.push(request);
    }
    await this.warn(members, hopeless);
    for (const request of again) {
      if (hopeless.has(request.groupIndex)) continue;
      await this.parts.bus.publishJson(subjects.rollout(request.runId, 'train'), request, request.rolloutId);
    }
    if (hopeless.size > 0) this.abandon([...hopeless]);
  }

  /**
   * Undefined after the maximum number of requests, or if no episode of its group arrived, because its task is then
   * unknown here.
   */
  private nextRequest({ group, member }: OwedMember): RolloutRequest | undefined {
    const { buffer, options } = this.parts;
    const sibling = buffer.requestOf(group);
    const key = keyOf({ group, member });
    const requests = (this.requests.get(key) ?? 0) + 1;
    if (sibling === undefined || requests > MAX_REQUESTS) return undefined;
    this.requests.set(key, requests);
    // Beyond every possible earlier attempt, because the broker drops ids that it has already seen.
    const attempt = options.maxAttempts - 1 + requests;
    return Object.assign(new RolloutRequest(), sibling, {
      indexInGroup: member,
      attempt,
      rolloutId: `${sibling.groupId}-r${member}-a${attempt}`,
      samplingSeed: samplingSeed(options.seed, 'train', group, member),
    });
  }

  private async warn(members: readonly OwedMember[], hopeless: ReadonlySet<number>): Promise<void> {
    const { warnings } = this.parts;
    const list = members.map(({ group, member }) => `${member} of group ${group}`).join(', ');
    const message =
      `episodes were lost: they were requested, no queue has them any more, and no trajectory came in. They are requested again` +
      `${hopeless.size === 0 ? '' : `, or others in place of groups ${[...hopeless].join(', ')}`}: number ${list}`;
    const [first] = members;
    const id = `learner.lost_episodes.${keyOf(first)}.${this.requests.get(keyOf(first)) ?? 0}`;
    await warnings.send('lost_episodes', message, id).catch((error: unknown) => this.logger.error(error));
  }
}

function keyOf({ group, member }: OwedMember): string {
  return `${group}/${member}`;
}
