import { writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { assertWritable, isEndpoint } from '@ui-rl/api';
import type { Log } from '@ui-rl/plugin-kit';
import { DEADLINES, describeError } from '@ui-rl/retry';
import { playByAgent } from './agent-episode';
import { demonstrate } from './demonstration';
import { TryFailure } from './failure';
import { HandEpisode, type HandTask } from './hand-episode';
import { LivePage, type LiveHandlers } from './live-page';
import { writeScreenshots } from './marked-screenshots';
import type { TryOptions, TryResult, WrittenTask } from './options';
import { pageName } from './page-target';
import { prepareTry, type TrySetup } from './setup';
import { Stage } from './stage';
import { LiveView, type ShownTurn } from './view';
import {
  refuseUsedFolder,
  unusedFolder,
  writeDemonstration,
  writeTask,
  type WriteOptions,
} from './write-task';

const NOT_BY_HAND: LiveHandlers = {
  act: () => refuse(),
  undo: () => refuse(),
  done: () => refuse(),
  choose: () => refuse(),
};

function refuse(): never {
  throw new TryFailure('the policy plays this episode: --by-hand lets a person play');
}

/**
 * Opens a user's page and has a policy play one episode, or, by hand, the person. A person's episode becomes a task
 * with checks, which is verified with and without its actions and written with a run file.
 *
 * @throws TryFailure, SettingsError: the problem and its fix
 */
export async function tryPage(options: TryOptions): Promise<TryResult> {
  await refuseUnwritable(options);
  const setup = await prepareTry(options);
  const live = new LiveView({
    mode: options.byHand === true ? 'hand' : 'agent',
    task: setup.task.description,
    page: pageName(setup.target),
    policy: options.byHand === true ? 'by hand' : setup.checkpoint,
  });
  const hand = options.byHand === true ? new HandEpisode(setup, options, live, idleOf(options)) : undefined;
  const page = await openLive(live, hand?.handlers ?? NOT_BY_HAND, options);
  try {
    const result = await (hand === undefined
      ? byAgent(setup, options, live)
      : byHand(hand, setup, options, live));
    await options.onEnd?.(result);
    return result;
  } catch (error) {
    live.update({ phase: 'failed', message: error instanceof Error ? error.message : String(error) });
    throw error;
  } finally {
    await page?.close();
  }
}

/** Fails early if the results could not be written at the end. */
async function refuseUnwritable({
  byHand = false,
  out,
  saveStorageState,
  workingDir = process.cwd(),
}: TryOptions): Promise<void> {
  const state = saveStorageState === undefined ? [] : [dirname(saveStorageState)];
  for (const folder of [...(out === undefined && !byHand ? [] : [out ?? '.']), ...state]) {
    const path = resolve(workingDir, folder);
    await assertWritable(path).catch((error: unknown) => {
      const advice = byHand && out === undefined ? 'name another folder with --out' : 'name another one';
      throw new TryFailure(`cannot write to ${path}: ${describeError(error)}; ${advice}`);
    });
  }
}

function idleOf({ idleMs }: TryOptions): number {
  return idleMs ?? DEADLINES.tryByHand.ms;
}

async function openLive(
  live: LiveView,
  handlers: LiveHandlers,
  options: TryOptions,
): Promise<LivePage | undefined> {
  if (options.isShown === false) {
    if (options.byHand === true)
      throw new TryFailure('--by-hand needs the live page: --no-live goes without it');
    return undefined;
  }
  const page = await LivePage.open({ live, handlers, webDir: options.webDir });
  options.onLive?.(page.url);
  return page;
}

async function byAgent(setup: TrySetup, options: TryOptions, live: LiveView): Promise<TryResult> {
  const { status, invalidReason = null } = await playByAgent(setup, options, live);
  const { turns } = live.view;
  const message = endOf(status, invalidReason, turns.at(-1));
  live.update({ phase: status === 'invalid' ? 'failed' : 'ended', message });
  return {
    status,
    reason: invalidReason,
    turns,
    screenshots: await screenshotsOf(options, live),
    task: null,
  };
}

function endOf(status: TryResult['status'], reason: string | null, last: ShownTurn | undefined): string {
  if (status === 'invalid') return `The episode says nothing of the policy: ${reason}`;
  if (status === 'completed' && last?.actions.at(-1)?.action !== 'finish')
    return `The page has ended the episode: ${last?.outcome}.`;
  return status === 'completed' ? 'The agent says that it is done.' : 'The agent has used up its turns.';
}

async function byHand(
  hand: HandEpisode,
  setup: TrySetup,
  options: TryOptions,
  live: LiveView,
): Promise<TryResult> {
  const { workingDir = process.cwd(), saveStorageState, onWarning, out } = options;
  if (out !== undefined) refuseUsedFolder(resolve(workingDir, out));
  const log: Log = (level, message) => {
    if (level === 'warn' || level === 'error') onWarning?.(message);
  };
  const { loaded, variables } = setup;
  const stage = await Stage.open({ loaded, variables, idleMs: idleOf(options), log });
  let shown: HandTask;
  try {
    shown = await hand.playOn(stage, async (save) => {
      if (saveStorageState === undefined) return;
      const path = resolve(workingDir, saveStorageState);
      // This file grants access to the login.
      await writeFile(path, `${JSON.stringify(await save(), null, 2)}\n`, { mode: 0o600 });
    });
  } finally {
    await stage.close();
  }
  const folder = out === undefined ? unusedFolder(workingDir, shown.task.id) : resolve(workingDir, out);
  const task = await written(shown, setup, options, { folder, workingDir });
  const screenshots = await screenshotsOf(
    { ...options, out: options.out === undefined ? undefined : `${folder}/screenshots` },
    live,
  );
  live.update({ phase: 'ended', message: 'The task is written.', written: task });
  return { status: 'completed', reason: null, turns: live.view.turns, screenshots, task };
}

/** Writes the task first, so that it exists even if the model cannot express the demonstration. */
async function written(
  hand: HandTask,
  setup: TrySetup,
  options: TryOptions,
  place: WriteOptions,
): Promise<WrittenTask> {
  const task = await writeTask(hand, setup, place);
  const demonstration = await demonstrationOf(hand, setup, options);
  return demonstration === null ? task : writeDemonstration(demonstration, task, hand, setup, place);
}

/** The demonstration in the model's words. Undefined if a secret was typed, because the file would contain it. */
async function demonstrationOf(hand: HandTask, setup: TrySetup, options: TryOptions): Promise<string | null> {
  const { onWarning, signal } = options;
  if (isEndpoint(setup.checkpoint)) return null;
  const { secretAt, secrets } = hand.played;
  if (secretAt.size > 0 || secrets.isIn(hand.actions)) {
    onWarning?.('a password was typed, so that no demonstration is written: it would hold it');
    return null;
  }
  try {
    return await demonstrate(hand, setup, options);
  } catch (error) {
    signal?.throwIfAborted();
    onWarning?.(`no demonstration is written: ${describeError(error)}`);
    return null;
  }
}

async function screenshotsOf(
  { out, workingDir = process.cwd() }: TryOptions,
  live: LiveView,
): Promise<string[]> {
  return out === undefined ? [] : writeScreenshots(resolve(workingDir, out), live);
}
