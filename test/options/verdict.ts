import { isDeepStrictEqual } from 'node:util';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import {
  filesOfRun,
  isModelName,
  parseRunFile,
  readRunFile,
  SettingsError,
  type RunFile,
} from '@ui-rl/settings';
import { makeAlgorithm } from '../../services/learner/src/training/algorithm';
import { Named } from './named';
import type { OptionSet } from './option-sets';

/** The verdict on an option set; `unsound`: it neither starts nor is refused with the name of an option. */
export type Verdict = { outcome: 'starts' } | { outcome: 'refused' | 'unsound'; message: string };

/** Judges option sets like a run: parsed, stored, parsed again, and its algorithm created. */
export class Judge {
  private readonly named: Named;

  constructor(private readonly registry: ComponentRegistry) {
    this.named = new Named(registry);
  }

  judge(set: OptionSet): Verdict {
    let run: RunFile;
    try {
      run = readRunFile({ ...set, workingDir: '/', models: ['small'] }, this.registry);
    } catch (error) {
      return this.refusal(set, error);
    }
    try {
      this.start(run);
      return { outcome: 'starts' };
    } catch (error) {
      return { outcome: 'unsound', message: `accepted, but does not start: ${String(error)}` };
    }
  }

  /** Whether a message names an option of the set, or a missing one. */
  names(set: OptionSet, message: string): boolean {
    return this.named.isIn(message, set);
  }

  private start(run: RunFile): void {
    makeAlgorithm(run, this.registry);
    // A run file with local paths is announced with the addresses of uploaded copies instead.
    const isPlaced = run.logging.log_path !== undefined || !isModelName(run.model.name);
    if (isPlaced || run.plugins.length > 0 || filesOfRun(run, this.registry).length > 0) return;
    const stored: unknown = JSON.parse(JSON.stringify(run));
    const again = parseRunFile(stored, this.registry);
    if (!isDeepStrictEqual(JSON.parse(JSON.stringify(again)), stored)) {
      throw new Error('read again it is another one');
    }
  }

  private refusal(set: OptionSet, error: unknown): Verdict {
    if (!(error instanceof SettingsError))
      return { outcome: 'unsound', message: `broke: ${(error as Error).stack ?? String(error)}` };
    const nameless = error.problems.find(({ message }) => !this.names(set, message));
    return nameless === undefined
      ? { outcome: 'refused', message: error.message }
      : { outcome: 'unsound', message: `refused without the name of an option: ${nameless.message}` };
  }
}
