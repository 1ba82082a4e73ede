import { printable, printableLines } from '@ui-rl/contracts';
import type { RunObserver } from './run-observer';
import { percent } from './intervals';

const BAR_WIDTH = 28;
const REDRAW_MS = 500;
/** Without a terminal, an occasional line is enough. */
const PLAIN_LINE_MS = 15_000;

export interface PhaseGoal {
  /** 0 … 1. */
  done: number;
  /** Seconds left; null while unknown. */
  secondsLeft: number | null;
}

/** @param done 0 … 1 */
export function bar(done: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, done)) * BAR_WIDTH);
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
}

export function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

export function progressLine(observer: RunObserver, goal: PhaseGoal, now = Date.now()): string {
  const seconds = Math.max(0.001, (now - observer.phaseSince) / 1000);
  const parts = [
    observer.phase.padEnd(10),
    bar(goal.done),
    percent(goal.done).padStart(5),
    `${(observer.phaseEpisodes / seconds).toFixed(1)} episodes/s`,
  ];
  if (observer.phase === 'training') parts.push(`step ${observer.trainSteps}`);
  const success = observer.recentSuccess();
  if (observer.phase === 'training' && success !== null) parts.push(`success ${percent(success)}`);
  if (goal.secondsLeft !== null) parts.push(`${clock(goal.secondsLeft)} left`);
  return parts.join('  ');
}

/** Shows progress: one line that is redrawn on a terminal, an occasional line elsewhere. */
export class ProgressDisplay {
  private timer: NodeJS.Timeout | null = null;
  private lastPlain = 0;

  constructor(
    private readonly line: () => string,
    private readonly out: NodeJS.WriteStream,
  ) {}

  start(): void {
    this.timer = setInterval(() => this.draw(), REDRAW_MS);
  }

  private draw(): void {
    if (this.out.isTTY) {
      const text = printable(this.line());
      this.out.write(`\r\x1b[2K${text.slice(0, Math.max(20, this.out.columns - 1))}`);
    } else if (Date.now() - this.lastPlain >= PLAIN_LINE_MS) {
      this.lastPlain = Date.now();
      this.out.write(`${printable(this.line())}\n`);
    }
  }

  /** Prints a permanent line above the progress. */
  print(text: string): void {
    const lines = printableLines(text);
    this.out.write(this.out.isTTY ? `\r\x1b[2K${lines}\n` : `${lines}\n`);
  }

  stop(): void {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
    if (this.out.isTTY) this.out.write('\r\x1b[2K');
  }
}
