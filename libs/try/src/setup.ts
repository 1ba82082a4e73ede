import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  ASSUMED,
  holdsAdapter,
  isEndpoint,
  type LoadedForModel,
  loadForModel,
  modelChoice,
  modelOfCandidate,
  namedCandidates,
} from '@ui-rl/api';
import type { Task } from '@ui-rl/contracts';
import type { ComponentChoice } from '@ui-rl/plugin-kit';
import { readCliSettings, type LoadedRunFile } from '@ui-rl/settings';
import { slugOf } from './choose';
import { TryFailure } from './failure';
import type { TryOptions } from './options';
import { pageOptions, readPageTarget, withPage, type PageTarget } from './page-target';

/** Everything that is known before the page opens. */
export interface TrySetup {
  loaded: LoadedRunFile;
  target: PageTarget;
  /** The task to play, without checks. */
  task: Task & { id: string };
  checkpoint: string;
  /** The model to train on the task. */
  trained: TrainedChoice;
  seed: number;
  /** Overrides environment variables of this process for the environment. */
  variables: Readonly<Record<string, string>>;
}

/** A model as a run file names it. */
export interface TrainedChoice {
  name: string;
  load_checkpoint?: string;
  /** Only if it differs from the default of a run. */
  action_format?: ComponentChoice;
}

/** Variable of the browser environment: the folder of saved logins. */
const STORAGE_STATES = 'BROWSER_STORAGE_STATES';
export const SHIPPED_MODEL = 'small';

/** Options for the bundled model: those of its pre-training, in which it learned its action format. */
const FOR_SHIPPED = {
  'model.prompt': 'compact',
  'model.history_turns': 8,
  'rollout.history_screenshots': 1,
  'rollout.max_tokens': 48,
  'rollout.max_turns': 10,
  // Otherwise it would repeat the same answer to the same screen forever.
  'evaluation.temperature': 1,
};
/** 160 × 224 pixels, as small as the screens of its pre-training. */
const PHONE = { viewport: { width: 320, height: 448 }, scale: 0.5 };
const DESKTOP = { viewport: { width: 1280, height: 800 }, scale: 1 };

/** @throws TryFailure, SettingsError: what is wrong with the options */
export async function prepareTry(options: TryOptions): Promise<TrySetup> {
  const { workingDir = process.cwd(), seed = 0 } = options;
  const [{ checkpoint, flags }] = namedCandidates([options.checkpoint ?? SHIPPED_MODEL]);
  const description = options.task.trim();
  if (description === '') throw new TryFailure('--task is empty: what is to be done on the page?');
  const found = readPageTarget(options.page, workingDir, options.root);
  const isShipped = isOfShipped(checkpoint, workingDir);
  const read = await loadForModel(
    {
      ...(options.runFile === undefined ? { options: {} } : { file: options.runFile }),
      flags: [...(options.flags ?? []), ...flags],
      assumed: { ...ASSUMED, ...(isShipped ? FOR_SHIPPED : {}) },
      workingDir,
    },
    (run) => modelOfCandidate(checkpoint, run, workingDir),
  );
  const { registry, target } = withPage(read.registry, found);
  const storage = storageOf(options.storageState, workingDir);
  const look =
    options.viewport === undefined
      ? isShipped && read.run.model.name === SHIPPED_MODEL
        ? PHONE
        : DESKTOP
      : { viewport: options.viewport, scale: 1 };
  const { scale = look.scale, input, allowedOrigins = [] } = options;
  return {
    loaded: { run: openTo(target, allowedOrigins, read.run), registry },
    target,
    checkpoint,
    trained: await trainedOf(checkpoint, read, workingDir),
    seed,
    variables: storage === undefined ? {} : { [STORAGE_STATES]: storage.folder },
    task: {
      id: slugOf(description),
      description,
      environment: {
        kind: 'browser',
        options: {
          ...pageOptions(target),
          viewport: look.viewport,
          ...(scale === 1 ? {} : { scale }),
          input,
          ...(allowedOrigins.length === 0 ? {} : { allowed_origins: [...allowedOrigins] }),
          ...(storage === undefined ? {} : { storage_state: storage.name }),
        },
      },
    },
  };
}

/** The bundled model, or weights trained on it: a checkpoint of a run, or a folder without a whole model. */
function isOfShipped(checkpoint: string, workingDir: string): boolean {
  if (checkpoint === SHIPPED_MODEL || checkpoint.startsWith('uirl://')) return true;
  const folder = resolve(workingDir, checkpoint);
  return existsSync(folder) && !existsSync(join(folder, 'config.json'));
}

/**
 * The model to train after a checkpoint has been tried: the named model, or the weights on the run file's model. A
 * model behind an endpoint cannot be trained.
 * @throws an error that says what is wrong with the checkpoint
 */
async function trainedOf(
  checkpoint: string,
  { run, usualFormat }: LoadedForModel,
  workingDir: string,
): Promise<TrainedChoice> {
  const { name, action_format } = run.model;
  if (isEndpoint(checkpoint)) return { name };
  const format = isUsual(action_format, usualFormat?.format) ? {} : { action_format };
  const { model, checkpoint: weights } = modelChoice(checkpoint, readCliSettings(), workingDir);
  if (weights === undefined) return { name: model ?? name, ...format };
  const isWhole = !weights.startsWith('uirl://') && !(await holdsAdapter(weights));
  return isWhole ? { name: weights, ...format } : { name, load_checkpoint: weights, ...format };
}

/** @param usual undefined: the default of unknown models */
function isUsual(format: ComponentChoice, usual: ComponentChoice | undefined): boolean {
  if (usual !== undefined) return isDeepStrictEqual({ ...format }, { ...usual });
  const { name, coordinates = 'screenshot' } = format;
  return name === 'json' && coordinates === 'screenshot';
}

/** An address on the command line is deliberate, so it may be private; an address in a task may not. */
function openTo(
  target: PageTarget,
  allowed: readonly string[],
  run: LoadedRunFile['run'],
): LoadedRunFile['run'] {
  const kind = run.environment.kind.name === 'browser' ? run.environment.kind : { name: 'browser' };
  const named = [...(target.kind === 'url' ? [target.origin] : []), ...allowed];
  const before = (kind as { private_origins?: readonly string[] }).private_origins ?? [];
  run.environment.kind = { ...kind, private_origins: [...new Set([...before, ...named])] };
  return run;
}

function storageOf(
  file: string | undefined,
  workingDir: string,
): { folder: string; name: string } | undefined {
  if (file === undefined) return undefined;
  const path = resolve(workingDir, file);
  if (!existsSync(path)) throw new TryFailure(`--storage-state: there is no file ${path}`);
  if (!path.endsWith('.json'))
    throw new TryFailure(`--storage-state: ${path} does not end with .json, as Playwright writes it`);
  return { folder: dirname(path), name: basename(path, '.json') };
}
