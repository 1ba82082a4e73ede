import type { EngineChoice } from '@ui-rl/api';
import type { NextStep, ShownProposal, ShownTurn } from './view';

export interface TryOptions extends Partial<EngineChoice> {
  /** An http or https address, a folder with index.html, or an .html file. */
  page: string;
  /** Folder to serve as the page's root, if the page uses files above its own folder. */
  root?: string | undefined;
  /** The goal in words. */
  task: string;
  /** The policy, as for `evaluate`. Default: the bundled model. */
  checkpoint?: string | undefined;
  /** A person plays, on the live page. */
  byHand?: boolean | undefined;
  /** Run file that configures the episode. */
  runFile?: string | undefined;
  /** Further options of a run file, as on the command line. */
  flags?: readonly string[];
  /** In CSS pixels. Default: the viewport that the model was trained on. */
  viewport?: { width: number; height: number } | undefined;
  /** Screenshot pixels per CSS pixel. */
  scale?: number | undefined;
  input?: 'mouse' | 'touch' | undefined;
  /** Origins that the page may reach besides its own. */
  allowedOrigins?: readonly string[];
  /** Seed of the environment and the sampler. Default 0. */
  seed?: number | undefined;
  /** File of Playwright's `storageState`, with which the page starts logged in. */
  storageState?: string | undefined;
  /** File to which the page's storage state is written at the end. */
  saveStorageState?: string | undefined;
  /** Folder for screenshots, and for the task of a person's episode. */
  out?: string | undefined;
  /** Checks to take, by kind: `all`, `url,text`. Default: `choose` and the live page ask. */
  checks?: string | undefined;
  /** Whether to show the episode on a live page. Default true. */
  isShown?: boolean | undefined;
  /** Folder of the built live page. */
  webDir?: string | undefined;
  /** Base of relative paths. */
  workingDir?: string | undefined;
  /** Ends a person's episode after this time without activity, in ms. */
  idleMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Called with the address of the live page. */
  onLive?: ((url: string) => void) | undefined;
  onTurn?: ((turn: ShownTurn) => void) | undefined;
  onWarning?: ((message: string) => void) | undefined;
  /** Asks for the ids of the checks, besides the live page: the first answer wins. `signal` cancels the question. */
  choose?:
    ((proposals: readonly ShownProposal[], signal: AbortSignal) => Promise<readonly number[]>) | undefined;
  /** Called with the result while the live page is still up. */
  onEnd?: ((result: TryResult) => Promise<void>) | undefined;
}

export interface TryResult {
  /** How the episode ended. */
  status: 'completed' | 'truncated' | 'invalid';
  /** Why it is invalid; null if it is valid. */
  reason: string | null;
  turns: readonly ShownTurn[];
  /** Paths of the written screenshots. */
  screenshots: readonly string[];
  /** The task derived from a person's episode. */
  task: WrittenTask | null;
}

export interface WrittenTask {
  id: string;
  /** Task file, run file and the files that belong to them. */
  files: readonly string[];
  checks: readonly string[];
  /** Commands that train and evaluate on the task. */
  next: readonly NextStep[];
}
