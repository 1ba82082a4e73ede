import { execFileSync } from 'node:child_process';
import { evaluate, type TaskResult } from '@ui-rl/api';
import type { RunFile } from '@ui-rl/settings';
import { processorMs } from '../processor-time';
import type { Row, RowKey, Setting, Training } from './row';

/** Pages per evaluation, which is what an interruption loses. */
export const PAGES_AT_ONCE = 5;

const EPISODES_AT_ONCE = 6;
const DEADLINE_MS = 60_000;

export interface TablePolicy {
  /** Name in the table. */
  name: string;
  /** Value for `ui-rl eval --checkpoint`. */
  checkpoint: string;
  /** Run file with the prompt settings. */
  config: string;
  temperature: number;
  training: Training;
}

export interface TablePage {
  name: string;
  split: string;
}

/** The prompt and sampling settings of a run file's policy. */
export function settingOf({ model, rollout }: RunFile, temperature: number, look: string): Setting {
  const { prompt, action_format } = model;
  return {
    look,
    prompt: typeof prompt === 'string' ? prompt : JSON.stringify(prompt),
    action_format: (action_format as { name?: string }).name ?? JSON.stringify(action_format),
    temperature,
    max_turns: rollout.max_turns,
  };
}

/** Plays some pages, a number of episodes each. Throws if the evaluation ends early. */
export async function playPages(
  policy: TablePolicy,
  pages: readonly TablePage[],
  { seed, episodes, ...key }: Omit<RowKey, 'page'> & { episodes: number },
  signal?: AbortSignal,
): Promise<Row[]> {
  const names = pages.map(({ name }) => name);
  const source = { source_type: 'miniwob', pages: names, look: key.setting.look, success: 'strict' };
  const [began, used] = [performance.now(), processorMs()];
  const report = await evaluate({
    checkpoints: [policy.checkpoint],
    tasks: JSON.stringify([source]),
    runFile: policy.config,
    flags: [
      `--evaluation.episodes_per_task=${episodes}`,
      '--evaluation.max_tasks=0',
      `--evaluation.temperature=${policy.temperature}`,
      `--training.seed=${seed}`,
      // On a machine with other load, a page may be slow.
      `--environment.deadline_ms=${DEADLINE_MS}`,
      `--rollout.concurrency=${EPISODES_AT_ONCE}`,
      // The page's raw reward including penalties, from which every success rule can be computed.
      '--rewards={"name":"miniwob-raw","at_least":-1}',
    ],
    records: 'none',
    signal,
    onWarning: (message) => console.error(message),
  });
  if (report.ended !== null) throw new Error(`the evaluation ended early: ${report.ended}`);
  const facts = {
    ...key,
    seed,
    training: policy.training,
    seconds: (performance.now() - began) / 1000 / pages.length,
    processorSeconds: (processorMs() - used) / 1000 / pages.length,
    commit: commit(),
    at: new Date().toISOString(),
  };
  return report.checkpoints[0].tasks.map((task) => ({ ...facts, ...rowOf(task, pages) }));
}

function rowOf(
  { id, episodes }: TaskResult,
  pages: readonly TablePage[],
): Pick<Row, 'page' | 'split' | 'episodes' | 'invalid'> {
  const page = id.replace('miniwob.', '');
  const valid = episodes.filter(({ status }) => status !== 'invalid');
  return {
    page,
    split: pages.find(({ name }) => name === page)!.split,
    episodes: valid.map(({ seed, reward: raw, turns }) => ({ seed, raw, turns })),
    invalid: episodes.length - valid.length,
  };
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
