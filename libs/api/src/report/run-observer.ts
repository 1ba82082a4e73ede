import type { EvaluationEvent, RunEvent, Trajectory, TrainStepEvent } from '@ui-rl/contracts';

/** Number of episodes in the moving success rate of training. */
const WINDOW = 200;

/** The command line's view of a run, derived only from its events and trajectories. */
export class RunObserver {
  phase = 'starting';
  failure: string | undefined;
  /** Why the run was stopped; undefined unless it was. */
  stopped: string | undefined;
  episodes = 0;
  invalid = 0;
  envSteps = 0;
  trainSteps = 0;
  /** Steps of the warm start, which precede all others; 0 until the first. */
  warmSteps = 0;
  /** Null until a step measures it; a step without trained tokens does not. */
  maxKlSampleTrain: number | null = null;
  /** The latest checkpoint. */
  checkpoint: { step: number; name: string; path: string } | undefined;
  readonly evaluations: EvaluationEvent[] = [];
  readonly steps: TrainStepEvent[] = [];
  readonly warnings: string[] = [];
  /** Episodes in the current phase, as a measure of its progress. */
  phaseEpisodes = 0;
  phaseSince = Date.now();
  /** Minutes from the start of the run to the start of its current phase. */
  minutesBefore = 0;
  /** Duration of the baseline; undefined before its end. */
  baselineSeconds: number | undefined;
  private readonly startedAt = Date.now();
  private readonly recent: boolean[] = [];

  onEvent(event: RunEvent): void {
    switch (event.type) {
      case 'phase':
        this.enterPhase(event.phase, event.reason);
        break;
      case 'train_step':
        this.onTrainStep(event);
        break;
      case 'checkpoint':
        this.checkpoint = { step: event.step, name: event.name, path: event.path };
        break;
      case 'evaluation':
        if (!this.evaluations.some((e) => e.evaluationId === event.evaluationId))
          this.evaluations.push(event);
        break;
      case 'warning':
        this.warnings.push(`${event.service}: ${event.message}`);
        break;
      case 'dead_letter':
        this.warnings.push(`dead letter of ${event.service} from ${event.subject}: ${event.reason}`);
        break;
    }
  }

  private enterPhase(phase: string, reason: string | undefined): void {
    if (phase === this.phase) return;
    const now = Date.now();
    if (this.phase === 'baseline') this.baselineSeconds = (now - this.phaseSince) / 1000;
    this.phase = phase;
    this.phaseSince = now;
    this.minutesBefore = (this.phaseSince - this.startedAt) / 60_000;
    this.phaseEpisodes = 0;
    if (phase === 'failed') this.failure = reason ?? 'no reason given';
    if (phase === 'stopped') this.stopped = reason ?? 'no reason given';
  }

  private onTrainStep(event: TrainStepEvent): void {
    this.steps.push(event);
    this.trainSteps = Math.max(this.trainSteps, event.step);
    const warm = event.metrics['warm_start/done_frac'];
    if (warm !== undefined) this.warmSteps = Math.round(event.step / warm);
    const kl = event.metrics['optim/kl_sample_train_v1'];
    if (kl !== undefined) this.maxKlSampleTrain = Math.max(this.maxKlSampleTrain ?? 0, Math.abs(kl));
  }

  onTrajectory(trajectory: Trajectory): void {
    this.episodes += 1;
    this.phaseEpisodes += 1;
    if (trajectory.status === 'invalid') {
      this.invalid += 1;
      return;
    }
    this.envSteps += trajectory.turns.length;
    if (trajectory.request.purpose !== 'train') return;
    this.recent.push(trajectory.success === true);
    if (this.recent.length > WINDOW) this.recent.shift();
  }

  /** Success rate of the latest training episodes; null before the first. */
  recentSuccess(): number | null {
    if (this.recent.length === 0) return null;
    return this.recent.filter(Boolean).length / this.recent.length;
  }

  /** Whether the last step has a checkpoint. */
  get isStored(): boolean {
    return (this.checkpoint?.step ?? 0) >= this.trainSteps;
  }

  get invalidShare(): number {
    return this.episodes === 0 ? 0 : this.invalid / this.episodes;
  }

  evaluation(stage: EvaluationEvent['stage'], set: string): EvaluationEvent | undefined {
    return this.evaluations.find((e) => e.stage === stage && e.set === set);
  }
}
