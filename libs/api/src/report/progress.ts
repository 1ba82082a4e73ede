import { printable, printableLines } from '@ui-rl/contracts';
import type { RunObserver } from './run-observer';
import { percent } from './intervals';

const BAR_WIDTH = 28;
/** A shorter bar shows nothing. */
const LEAST_BAR = 6;
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
export function bar(done: number, width = BAR_WIDTH): string {
  const filled = Math.round(Math.min(1, Math.max(0, done)) * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}

export function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

/** @param columns width of the terminal: the bar gives way first, then the rate, so that success and time left stay */
export function progressLine(
  observer: RunObserver,
  goal: PhaseGoal,
  now = Date.now(),
  columns = Infinity,
): string {
  const rest = [percent(goal.done).padStart(5), rateOf(observer, now), ...resultsOf(observer, goal)];
  const widest = (words: readonly string[]) =>
    columns - [observer.phase.padEnd(10), '', ...words].join('  ').length;
  const shown = widest(rest) >= LEAST_BAR ? rest : rest.toSpliced(1, 1);
  const room = Math.min(BAR_WIDTH, widest(shown));
  const drawn = room >= LEAST_BAR ? [bar(goal.done, room)] : [];
  return [observer.phase.padEnd(10), ...drawn, ...shown].join('  ');
}

function rateOf({ phaseSince, phaseEpisodes }: RunObserver, now: number): string {
  const seconds = Math.max(0.001, (now - phaseSince) / 1000);
  return `${(phaseEpisodes / seconds).toFixed(1)} episodes/s`;
}

function resultsOf(observer: RunObserver, goal: PhaseGoal): string[] {
  const success = observer.recentSuccess();
  const isTraining = observer.phase === 'training';
  return [
    ...(isTraining ? [`step ${observer.trainSteps}`] : []),
    ...(isTraining && success !== null ? [`success ${percent(success)}`] : []),
    ...(goal.secondsLeft === null ? [] : [`${clock(goal.secondsLeft)} left`]),
  ];
}

/** Shows progress: one line that is redrawn on a terminal, an occasional line elsewhere. */
export class ProgressDisplay {
  private timer: NodeJS.Timeout | null = null;
  private lastPlain = 0;

  constructor(
    private readonly line: (columns?: number) => string,
    private readonly out: NodeJS.WriteStream,
  ) {}

  start(): void {
    this.timer = setInterval(() => this.draw(), REDRAW_MS);
  }

  private draw(): void {
    if (this.out.isTTY) {
      const columns = Math.max(20, this.out.columns - 1);
      const text = printable(this.line(columns));
      this.out.write(`\r\x1b[2K${text.slice(0, columns)}`);
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
