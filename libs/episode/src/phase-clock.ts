import { EPISODE_PHASES, type EpisodePhase, type PhaseTimes } from '@ui-rl/contracts';
import { roundMs } from './turn';

/** Measures the phases of an episode. */
export class PhaseClock {
  private readonly times = Object.fromEntries(EPISODE_PHASES.map((phase) => [phase, 0])) as Record<
    EpisodePhase,
    number
  >;
  private phase: EpisodePhase | null = null;
  private since = 0;

  /** @param onPhase called when a phase begins */
  constructor(private readonly onPhase?: (phase: EpisodePhase) => void) {}

  begin(phase: EpisodePhase): void {
    this.end();
    this.phase = phase;
    this.since = performance.now();
    this.onPhase?.(phase);
  }

  /** The times so far, in milliseconds; ends the current phase. */
  read(): PhaseTimes {
    this.end();
    const rounded = EPISODE_PHASES.map((phase) => [phase, roundMs(this.times[phase])]);
    return Object.fromEntries(rounded) as PhaseTimes;
  }

  private end(): void {
    if (this.phase !== null) this.times[this.phase] += performance.now() - this.since;
    this.phase = null;
  }
}
