import { existsSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseCheckpointName } from '@ui-rl/contracts';
import type { Policy } from '@ui-rl/episode';
import { parseHubName } from '@ui-rl/models';
import { readCliSettings, type CliSettings, type RunFile } from '@ui-rl/settings';
import type { EngineChoice } from '../model/engine-choice';
import type { ModelChoice } from '../model/model-choice';
import { VisionLanguageModel } from '../model/vision-language-model';
import { EndpointPolicy } from './endpoint-policy';

/** A candidate as the user named it. */
export interface NamedCandidate {
  /** Path, address or model name. */
  checkpoint: string;
  /** Run-file options that apply to this candidate only. */
  flags: string[];
  /** Short and unique. */
  label: string;
}

/** A candidate that is ready to play. */
export interface OpenCandidate {
  policy: Policy;
  /** Sampling parameters that the endpoint rejects and that requests omit. */
  refusedParameters(): readonly string[];
  /** Releases its resources. Idempotent. */
  close(): Promise<void>;
}

export interface OpenOptions extends Partial<EngineChoice> {
  workingDir?: string | undefined;
  signal?: AbortSignal | undefined;
  onWarning: (message: string) => void;
}

const EXPECTED =
  'a folder, uirl://<run>/sampler_weights/<step>, organisation/name on the hub, a name of UIRL_MODELS, or an endpoint of ' +
  "OpenAI's API with its model: https://host/v1#model";

/** Splits `small --model.prompt compact` into the candidate and the run-file options that apply to it only. */
export function namedCandidates(given: readonly string[]): NamedCandidate[] {
  const labels = new Map<string, number>();
  return given.map((text) => {
    const [checkpoint, ...flags] = text.trim().split(/\s+(?=--[A-Za-z])/);
    const name = shortName(checkpoint);
    const times = (labels.get(name) ?? 0) + 1;
    labels.set(name, times);
    return {
      checkpoint,
      flags: flags.flatMap((flag) => splitOnce(flag)),
      label: times === 1 ? name : `${name} (${times})`,
    };
  });
}

function splitOnce(flag: string): string[] {
  const [name, value] = [flag.split(/\s/, 1)[0], flag.replace(/^\S+\s*/, '')];
  return value === '' ? [name] : [name, value];
}

function shortName(checkpoint: string): string {
  const parsed = parseCheckpointName(checkpoint);
  if (parsed !== undefined) return `${parsed.runId}/${parsed.step}`;
  if (isEndpoint(checkpoint)) return checkpoint.split('#')[1] || checkpoint;
  return basename(checkpoint) || checkpoint;
}

export function isEndpoint(checkpoint: string): boolean {
  return /^https?:\/\//i.test(checkpoint);
}

/**
 * Opens a candidate and verifies that it answers.
 * @throws an error that says what is wrong with the candidate
 */
export async function openCandidate(
  { checkpoint }: NamedCandidate,
  run: RunFile,
  options: OpenOptions,
): Promise<OpenCandidate> {
  if (isEndpoint(checkpoint)) return openEndpoint(checkpoint, run, options);
  const { signal, onWarning, device, dtype, quantization } = options;
  const { model, ...weights } = modelChoice(checkpoint, readCliSettings(), options.workingDir);
  const policy = await VisionLanguageModel.load(model, {
    ...weights,
    ...{ signal, device, dtype, quantization },
    rows: run.rollout.concurrency,
    maxSequence: run.model.max_sequence,
    onProgress: onWarning,
  });
  let stopped: Promise<void> | undefined;
  return { policy, refusedParameters: () => [], close: () => (stopped ??= policy.stop()) };
}

async function openEndpoint(
  checkpoint: string,
  { rollout, evaluation, training }: RunFile,
  { signal, onWarning }: OpenOptions,
): Promise<OpenCandidate> {
  const { address, model, origin } = readEndpoint(checkpoint);
  const unknown = [
    ...(rollout.top_k > 0 ? ['rollout.top_k'] : []),
    ...(rollout.constrain_actions ? ['rollout.constrain_actions'] : []),
  ];
  if (unknown.length > 0) {
    throw new Error(`${checkpoint}: an endpoint of OpenAI's API knows nothing of ${unknown.join(' and ')}`);
  }
  const key = readCliSettings().endpointKeys[origin];
  const policy = new EndpointPolicy({ address, model, key, onWarning });
  const { max_tokens: maxTokens, top_p: topP } = rollout;
  await policy.check({ maxTokens, topP, temperature: evaluation.temperature, seed: training.seed }, signal);
  return { policy, refusedParameters: () => policy.refused, close: async () => undefined };
}

/** The name of the model that plays. For an adapter or a checkpoint, this is the run file's model. */
export function modelOfCandidate(
  checkpoint: string,
  { model }: RunFile,
  workingDir = process.cwd(),
): string | undefined {
  if (isEndpoint(checkpoint)) return checkpoint.split('#')[1];
  if (checkpoint.startsWith('uirl://')) return model.name;
  const folder = resolve(workingDir, checkpoint);
  const isAdapter = existsSync(folder) && !existsSync(join(folder, 'config.json'));
  return isAdapter ? model.name : checkpoint;
}

function readEndpoint(checkpoint: string): { address: string; model: string; origin: string } {
  const url = URL.canParse(checkpoint) ? new URL(checkpoint) : undefined;
  if (url === undefined) throw new Error(`${checkpoint} is not an address; expected https://host/v1#model`);
  if (url.username !== '' || url.password !== '') {
    throw new Error(
      `the address of an endpoint at ${url.host} holds a password, which would be recorded: UIRL_ENDPOINT_KEYS=${url.origin}=KEY keeps it`,
    );
  }
  const model = decodeURIComponent(url.hash.slice(1));
  if (model === '')
    throw new Error(`${checkpoint} names no model: expected ${checkpoint.split('#')[0]}#model`);
  url.hash = '';
  return { address: url.href.replace(/\/$/, ''), model, origin: url.origin };
}

/**
 * The model of a checkpoint that is not an endpoint.
 * @throws an error that says what was expected
 */
export function modelChoice(
  checkpoint: string,
  { models }: CliSettings,
  workingDir = process.cwd(),
): Pick<ModelChoice, 'model' | 'checkpoint'> {
  if (checkpoint.startsWith('uirl://')) return { checkpoint };
  if (Object.hasOwn(models, checkpoint)) return { model: checkpoint };
  const folder = resolve(workingDir, checkpoint);
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder) return { checkpoint: folder };
  if (parseHubName(checkpoint) !== undefined && !/^[./~]/.test(checkpoint)) return { model: checkpoint };
  const known = Object.keys(models).join(', ');
  throw new Error(`there is no checkpoint "${checkpoint}": expected ${EXPECTED} (${known})`);
}
