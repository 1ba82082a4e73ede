import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import type { Turn } from './feeder';
import type { Fuzzed } from './fuzz';
import type { Trend } from '@ui-rl/testkit';

const FILE = join(__dirname, 'ledger.json');

/** Memory in MB, and its growth per 1,000 inputs in kB with the standard error. */
interface Growth {
  begin: number;
  end: number;
  slope: number | null;
  error: number | null;
}

interface FedTurn {
  from: number;
  to: number;
  accepted: number;
  /** CPU time of the slowest input. */
  slowestMs: number;
  rss: Growth;
  retained: Growth;
}

interface Failure {
  at: number;
  message: string;
  commit: string;
  /** Commit at which it was repeated and passed. */
  mended?: string;
}

interface FedTarget {
  inputs: number;
  failures: Failure[];
  turns: FedTurn[];
}

interface Sitting {
  commit: string;
  begun: string;
  seconds: number;
  inputs: number;
  /** Of each process over all of its targets. */
  rss: Growth[];
}

interface Content {
  seed: number;
  inputs: number;
  sittings: Sitting[];
  targets: Record<string, FedTarget>;
}

/** Removes local module paths from a failure message. */
function withoutPlaces(message: string): string {
  return message.replaceAll(/\/[^\s():]*\//g, '').slice(0, 300);
}

/** The totals of all sessions, in a committed file: the next session continues where the last one ended. */
export class Ledger {
  private readonly commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    encoding: 'utf8',
  }).trim();
  private readonly content: Content = existsSync(FILE)
    ? (JSON.parse(readFileSync(FILE, 'utf8')) as Content)
    : { seed: 1, inputs: 0, sittings: [], targets: {} };

  get seed(): number {
    return this.content.seed;
  }

  get inputs(): number {
    return this.content.inputs;
  }

  /** Inputs fed to a target so far. */
  fed(target: string): number {
    return this.content.targets[target]?.inputs ?? 0;
  }

  /** Numbers of the inputs that failed and have not passed since. */
  failed(target: string): number[] {
    const failures = this.content.targets[target]?.failures ?? [];
    return failures.filter(({ mended }) => mended === undefined).map(({ at }) => at);
  }

  /** Records the repetition of an input that failed before. */
  async repeat({ target, from, failure }: Turn): Promise<void> {
    if (failure !== undefined) return;
    for (const each of this.content.targets[target].failures) if (each.at === from) each.mended = this.commit;
    await this.save();
  }

  async add(turn: Turn): Promise<void> {
    const { target, from, to, accepted, slowest, failure } = turn;
    const row = (this.content.targets[target] ??= { inputs: 0, failures: [], turns: [] });
    row.turns.push({
      ...{ from, to, accepted, slowestMs: Math.round(slowest.ms) },
      rss: growthOf(turn.rss),
      retained: growthOf(turn.retained),
    });
    if (failure !== undefined)
      row.failures.push({ at: failure.at, message: withoutPlaces(failure.message), commit: this.commit });
    row.inputs = to;
    this.content.inputs += to - from;
    await this.save();
  }

  async end(begun: Date, { turns, processes }: Fuzzed): Promise<void> {
    this.content.sittings.push({
      commit: this.commit,
      begun: begun.toISOString(),
      seconds: Math.round((Date.now() - begun.getTime()) / 1_000),
      inputs: turns.reduce((sum, { from, to }) => sum + to - from, 0),
      rss: processes.map(growthOf),
    });
    await this.save();
  }

  private async save(): Promise<void> {
    const config = await resolveConfig(FILE);
    const text = await format(JSON.stringify(this.content), { ...config, parser: 'json' });
    writeFileSync(`${FILE}.new`, text);
    renameSync(`${FILE}.new`, FILE);
  }
}

function growthOf({ begin, end, slope, error }: Trend): Growth {
  const rounded = (value: number) => Math.round(value * 10) / 10;
  const perThousand = (value: number | null) => (value === null ? null : rounded(value));
  return {
    begin: rounded(begin / 1e6),
    end: rounded(end / 1e6),
    // Bytes per input equal kB per thousand inputs.
    slope: perThousand(slope),
    error: perThousand(error),
  };
}
