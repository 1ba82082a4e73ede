import type { Trajectory } from '@ui-rl/contracts';

/** An episode whose success or return differs. */
export interface ChangedScore {
  rolloutId: string;
  task: string;
  success: [before: boolean | null, after: boolean | null];
  reward: [before: number, after: number];
}

export interface RescoredFile {
  /** Undefined if nothing was written. */
  path: string | undefined;
  bytes: number;
  /** Scored again. */
  episodes: number;
  /** Episodes whose verdicts are both known, and those of them with the same one. */
  judged: number;
  agreeing: number;
  /** Cohen's κ of the verdicts; null if it is undefined, as for verdicts that are all the same. */
  kappa: number | null;
  /** Episodes with the same return, up to rounding. */
  sameReward: number;
  meanReward: [before: number, after: number];
  changed: ChangedScore[];
  /** Episodes that could not be scored. */
  failed: { rolloutId: string; reason: string }[];
}

const ROUNDING = 1e-6;

/** Compares the scores of episodes before and after. */
export class RescoreReport {
  episodes = 0;
  private sameReward = 0;
  private readonly sums: [number, number] = [0, 0];
  /** Counts of verdicts: before, after. */
  private readonly verdicts = { yesYes: 0, yesNo: 0, noYes: 0, noNo: 0 };
  private readonly changed: ChangedScore[] = [];
  private readonly failed: RescoredFile['failed'] = [];

  add({ request, success, reward }: Trajectory, after: Trajectory): void {
    this.episodes += 1;
    this.sums[0] += reward;
    this.sums[1] += after.reward;
    const isSame = Math.abs(reward - after.reward) <= ROUNDING;
    this.sameReward += Number(isSame);
    const verdicts: ChangedScore['success'] = [success ?? null, after.success ?? null];
    this.count(verdicts);
    if (isSame && verdicts[0] === verdicts[1]) return;
    const { rolloutId, task } = request;
    const name = task.id ?? task.description;
    this.changed.push({ rolloutId, task: name, success: verdicts, reward: [reward, after.reward] });
  }

  fail({ request }: Trajectory, reason: string): void {
    this.failed.push({ rolloutId: request.rolloutId, reason });
  }

  /** @throws Error if no episode could be scored */
  file(path: string | undefined, bytes: number): RescoredFile {
    const { episodes, sums, sameReward, changed, failed } = this;
    if (episodes === 0)
      throw new Error(`no episode could be scored: ${failed[0].rolloutId}: ${failed[0].reason}`);
    const { yesYes, yesNo, noYes, noNo } = this.verdicts;
    return {
      ...{ path, bytes, episodes, sameReward, changed, failed },
      judged: yesYes + yesNo + noYes + noNo,
      agreeing: yesYes + noNo,
      kappa: this.kappa,
      meanReward: [sums[0] / episodes, sums[1] / episodes],
    };
  }

  private count([before, after]: ChangedScore['success']): void {
    if (before === null || after === null) return;
    this.verdicts[before ? (after ? 'yesYes' : 'yesNo') : after ? 'noYes' : 'noNo'] += 1;
  }

  /** Agreement beyond chance (Cohen 1960). */
  private get kappa(): number | null {
    const { yesYes, yesNo, noYes, noNo } = this.verdicts;
    const all = yesYes + yesNo + noYes + noNo;
    const byChance = ((yesYes + yesNo) * (yesYes + noYes) + (noYes + noNo) * (yesNo + noNo)) / all ** 2;
    return all === 0 || byChance === 1 ? null : ((yesYes + noNo) / all - byChance) / (1 - byChance);
  }
}
