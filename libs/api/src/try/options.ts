import type { EngineChoice } from '../model/engine-choice';
import type { NextStep, ShownProposal, ShownTurn } from './view';

export interface TryOptions extends Partial<EngineChoice> {
  /** An http or https address, a folder with index.html, or an .html file. */
  page: string;
  /** Folder that the page has, where it uses what lies above its own. */
  root?: string | undefined;
  /** What is to be done there. */
  task: string;
  /** Who plays: as for `evaluate`. Default: the shipped model. */
  checkpoint?: string | undefined;
  /** A person plays, on the live page. */
  byHand?: boolean | undefined;
  /** Run file that says how it is played. */
  runFile?: string | undefined;
  /** Further options of a run file, as on the command line. */
  flags?: readonly string[];
  /** In CSS pixels. Default: what the model is used to. */
  viewport?: { width: number; height: number } | undefined;
  /** Pixels of the screenshot per CSS pixel. */
  scale?: number | undefined;
  input?: 'mouse' | 'touch' | undefined;
  /** Origins that the page may reach besides its own. */
  allowedOrigins?: readonly string[];
  /** Seeds start and sampler. Default 0. */
  seed?: number | undefined;
  /** File that Playwright's `storageState` has written: the page begins logged in. */
  storageState?: string | undefined;
  /** File to write what the page has stored at the end. */
  saveStorageState?: string | undefined;
  /** Folder for screenshots, and by hand for the task. */
  out?: string | undefined;
  /** Which checks are taken, by kind: `all`, `url,text`. Default: `choose` and the live page are asked. */
  checks?: string | undefined;
  /** Whether it is shown live on a page of this machine. Default true. */
  isShown?: boolean | undefined;
  /** Where the built live page lies. */
  webDir?: string | undefined;
  /** Where relative paths start. */
  workingDir?: string | undefined;
  /** By hand: it ends where nobody has done anything for so long. */
  idleMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Called with the address of the live page. */
  onLive?: ((url: string) => void) | undefined;
  onTurn?: ((turn: ShownTurn) => void) | undefined;
  onWarning?: ((message: string) => void) | undefined;
  /** Asked for the ids of the checks, beside the live page: who answers first counts. `signal` ends the question. */
  choose?:
    ((proposals: readonly ShownProposal[], signal: AbortSignal) => Promise<readonly number[]>) | undefined;
  /** Called with the result while the live page is still up. */
  onEnd?: ((result: TryResult) => Promise<void>) | undefined;
}

export interface TryResult {
  /** How the episode ended. */
  status: 'completed' | 'truncated' | 'invalid';
  /** Why it is invalid. */
  reason: string | null;
  turns: readonly ShownTurn[];
  /** Screenshots that were written. */
  screenshots: readonly string[];
  /** The task that was made of it, by hand. */
  task: WrittenTask | null;
}

export interface WrittenTask {
  id: string;
  /** Task file, run file and what else belongs to them. */
  files: readonly string[];
  checks: readonly string[];
  /** What trains and evaluates on it. */
  next: readonly NextStep[];
}
