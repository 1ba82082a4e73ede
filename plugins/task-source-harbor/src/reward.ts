import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import {
  answerOf,
  isRecord,
  outsideText,
  PluginError,
  show,
  type Deadline,
  type DetailedReward,
  type JudgedEpisode,
  type Log,
  type Reward,
} from '@ui-rl/plugin-kit';
import type { HarborTestsOptions } from './options';
import { probeSandbox, runTest, type GivenFile, type TestEnd } from './sandbox';
import { readHarborFolders, type HarborFolder } from './task-folders';

/** Variable of the actor's machine that allows tests. */
export const TESTS_VARIABLE = 'HARBOR_TESTS';
const MODES = ['offline', 'network'];
const NAME = 'harbor-tests';
/** Time that remains for the rest of an episode's end. */
const MARGIN_MS = 1_000;

/** Runs the tests of tasks in a sandbox. An episode whose test writes no reward is not scored. */
export class HarborTests implements Reward {
  private constructor(
    private readonly tasks: ReadonlyMap<string, HarborFolder>,
    private readonly options: HarborTestsOptions,
    private readonly isOnline: boolean,
    private readonly log: Log,
  ) {}

  /** @throws PluginError `option` if tests may not run here, or if one of them cannot run without its container */
  static async of(options: HarborTestsOptions, mode: string | undefined, log: Log): Promise<HarborTests> {
    if (mode === undefined) {
      throw refused(
        `runs scripts of the task folder, which this machine has not allowed: set ${TESTS_VARIABLE}=offline, or network, where the actor runs`,
      );
    }
    if (!MODES.includes(mode))
      throw refused(`${TESTS_VARIABLE} is ${show(mode)}, expected ${MODES.join(' or ')}`);
    await probeSandbox().catch((cause: unknown) => Promise.reject(refused((cause as Error).message)));
    const folders = await readHarborFolders(options.path);
    for (const folder of folders) refuseTest(folder);
    const isOnline = mode === 'network';
    const cutOff = folders.filter(({ toml }) => toml.verifier.network === 'public' && !isOnline).length;
    if (cutOff > 0)
      log('info', `reward ${NAME}: ${cutOff} tests could use the network in Harbor, and run without it here`);
    return new HarborTests(new Map(folders.map((folder) => [folder.id, folder])), options, isOnline, log);
  }

  /** @throws Error with the end of the test's output if it wrote no reward */
  async score(episode: JudgedEpisode, { deadlineAt, signal }: Deadline): Promise<DetailedReward> {
    const { task } = episode;
    const folder = this.tasks.get(task.id ?? '');
    if (folder === undefined)
      throw new Error(`task ${show(task.id)} is not in the task folders of ${this.options.path}`);
    const { timeoutSec, env, network } = folder.toml.verifier;
    const wantedMs = Math.min(timeoutSec, this.options.timeout_s) * 1000;
    const end = await runTest({
      tests: await realpath(join(folder.folder, 'tests')),
      files: this.filesOf(episode),
      env,
      network: this.isOnline && network === 'public',
      timeoutMs: Math.max(1, Math.min(wantedMs, deadlineAt - Date.now() - MARGIN_MS)),
      signal,
    });
    const value = rewardOf(end, this.options.key, folder.id);
    this.log('debug', `${NAME}: ${folder.id} is worth ${value}: ${outsideText(end.output)}`);
    return { episode: { [NAME]: value }, verdicts: { [NAME]: value >= this.options.success_at } };
  }

  /** The end of the episode, as test.sh can read it. */
  private filesOf({ turns, stateAfter }: JudgedEpisode): GivenFile[] {
    const answer = answerOf(turns);
    const { answer_file: answerFile } = this.options;
    return [
      { path: '/logs/agent/state.json', text: JSON.stringify(stateAfter) },
      ...(answer === undefined
        ? []
        : ['/logs/agent/answer.txt', ...(answerFile === undefined ? [] : [answerFile])].map((path) => ({
            path,
            text: answer,
          }))),
    ];
  }
}

function refuseTest({ id, folder, hasTest, toml }: HarborFolder): void {
  if (!hasTest)
    throw refused(`${folder} has no tests/test.sh: judge its tasks with another reward, such as judge`);
  const [fault] = toml.verifier.unsupported;
  if (fault === undefined) return;
  throw refused(
    `the test of ${id} cannot run without its container: ${fault}. Leave the task out, or judge it with another reward`,
  );
}

function rewardOf({ code, reward, output, isLate }: TestEnd, key: string, id: string): number {
  const said = outsideText(output) || 'nothing';
  if (isLate) throw new Error(`tests/test.sh of ${id} did not end in time; its output ends with: ${said}`);
  if (reward === null)
    throw new Error(
      `tests/test.sh of ${id} wrote no /logs/verifier/reward.txt or reward.json (exit status ${code}): ${said}`,
    );
  const value = reward.name === 'reward.json' ? jsonReward(reward.text, key) : textReward(reward.text);
  if (Number.isFinite(value)) return value as number;
  throw new Error(
    `tests/test.sh of ${id} wrote ${outsideText(reward.text, 100) || 'nothing'} to ${reward.name}, expected a number${reward.name === 'reward.json' ? `, or an object of numbers with "${key}"` : ''}`,
  );
}

function textReward(text: string): number {
  return text.trim() === '' ? Number.NaN : Number(text.trim());
}

/** A number, or the one of that key; true is 1, as in Harbor. */
function jsonReward(text: string, key: string): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
  const value = isRecord(parsed) ? (Object.hasOwn(parsed, key) ? parsed[key] : undefined) : parsed;
  return typeof value === 'boolean' ? Number(value) : value;
}

function refused(message: string): PluginError {
  return new PluginError('option', `reward ${NAME}: ${message}`);
}
