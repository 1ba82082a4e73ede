import { Logger } from '@nestjs/common';
import { UnacceptableMessage, type BusService, type Lease } from '@ui-rl/bus';
import { subjects, type Trajectory } from '@ui-rl/contracts';
import type { Progress } from '../training/progress';
import { findDefect, type TokenLimits } from '../training/turn-data';
import { rememberTrace } from '../tracking/step-traces';
import type { RunWarnings } from '../warnings';
import { foreignRequest, unsolicitedRequest, type GroupBuffer, type Refill } from './groups';
import { InvalidShareAlarm } from './invalid-share';
import type { Stragglers } from './stragglers';
import type { TaskHealth } from './task-health';

/** The consumer with which a run's learners, one after the other, read its training episodes. */
export function trajectoryConsumer(runId: string): string {
  return `learner-${runId}`;
}

export interface IntakeParts {
  runId: string;
  bus: BusService;
  lease: Pick<Lease, 'confirm'>;
  groupSize: number;
  /** Token limits of the model. */
  tokens: TokenLimits;
  buffer: GroupBuffer;
  health: TaskHealth;
  stragglers: Stragglers;
  progress: Progress;
  warnings: RunWarnings;
  /** The first of these screenshots that is no longer available; undefined if all are. */
  missingScreenshot: (hashes: readonly string[]) => Promise<string | undefined>;
  /** Number of groups requested since the start of the run. */
  groupsRequested: () => number;
}

/**
 * Receives the training episodes of a run: validates them, adds them to their groups, and has invalid ones played
 * again.
 */
export class EpisodeIntake {
  private readonly logger = new Logger('learner');
  private readonly alarm = new InvalidShareAlarm();

  constructor(private readonly parts: IntakeParts) {}

  /**
   * Handles one episode. Resolves with a promise for which its message has to wait, until its group is settled;
   * undefined if the message can be acknowledged now.
   * @throws UnacceptableMessage for an unsolicited episode: its group would never be complete, and would block others
   */
  async add(trajectory: Trajectory): Promise<{ settled: Promise<void> } | undefined> {
    rememberTrace(trajectory);
    await this.refuseUnsolicited(trajectory);
    const problem = await this.validate(trajectory);
    const { buffer, health, stragglers } = this.parts;
    // No await from here to the buffer: the first episode of a group determines the request with which the others are
    // compared.
    const foreign = foreignRequest(trajectory.request, buffer.requestOf(trajectory.request.groupIndex));
    if (foreign !== undefined) throw new UnacceptableMessage(`this episode was not requested: ${foreign}`);
    stragglers.came(trajectory);
    if (problem !== undefined && stragglers.isExtra(trajectory.request)) return undefined;
    if (problem === undefined) health.played(trajectory.request.task);
    const added = buffer.add(trajectory, problem);
    if (added.kind === 'redundant') return undefined;
    this.watchInvalidShare();
    for (const refill of added.refills) await this.playAgain(refill);
    return added;
  }

  private async playAgain({ request, reason, published }: Refill): Promise<void> {
    const { runId, bus } = this.parts;
    this.logger.warn(
      `an episode of ${request.groupId} does not count (${reason}); asking for ${request.rolloutId}`,
    );
    await bus.publishJson(subjects.rollout(runId, request.purpose), request, request.rolloutId);
    published();
  }

  private async refuseUnsolicited({ request }: Trajectory): Promise<void> {
    const { runId, lease, groupSize, groupsRequested } = this.parts;
    const reason = unsolicitedRequest(request, { runId, groupSize, groups: groupsRequested() });
    if (reason === undefined) return;
    // A learner that was suspended does not know the requests of its successor.
    await lease.confirm();
    throw new UnacceptableMessage(`this episode was not requested: ${reason}`);
  }

  /** Why an episode is invalid; undefined if it is valid. */
  private async validate(trajectory: Trajectory): Promise<string | undefined> {
    if (trajectory.status === 'invalid') return trajectory.invalidReason ?? 'no reason given';
    const { progress, tokens, warnings, lease } = this.parts;
    const unknown = progress.unknownPolicy(trajectory);
    // Nor does it know its successor's policies.
    if (unknown !== undefined) await lease.confirm();
    const defect =
      unknown === undefined
        ? (findDefect(trajectory, tokens) ?? (await this.missingScreenshot(trajectory)))
        : `it was sampled with adapter ${unknown.digest} as policy ${unknown.version}, which this learner never produced`;
    if (defect === undefined) return undefined;
    const { rolloutId } = trajectory.request;
    const code = unknown === undefined ? 'defective_trajectory' : 'unknown_adapter';
    await warnings.send(
      code,
      `trajectory ${rolloutId} is not trained: ${defect}`,
      `learner.${code}.${rolloutId}`,
    );
    return defect;
  }

  private async missingScreenshot({ turns }: Trajectory): Promise<string | undefined> {
    const shown = [...new Set(turns.flatMap(({ promptImages }) => promptImages))];
    const missing = await this.parts.missingScreenshot(shown);
    return missing && `its screenshot ${missing} is neither in memory nor among the blobs`;
  }

  private watchInvalidShare(): void {
    const { progress, buffer, warnings } = this.parts;
    const [settled, open] = [progress.counts, buffer.counts];
    const trajectories = settled.trajectories + open.trajectories;
    const message = this.alarm.update({ trajectories, invalid: settled.invalid + open.invalid });
    if (message === undefined) return;
    warnings
      .send('invalid_share', message, `learner.invalid_share.${trajectories}`)
      .catch((error: unknown) => this.logger.error(error));
  }
}
