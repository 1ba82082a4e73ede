import { type Datum, type EngineContext, isRecord, type LossModel, PluginError } from '@ui-rl/plugin-kit';
import type { Json } from './connection';
import { TinkerError } from './errors';
import type { ServiceLoss } from './options';
import type { Service } from './session';

/** Per datum [L]; NaN where the weight is 0. @throws TinkerError `worker` if the answer has none */
export function logprobsOf(answer: Json, data: readonly Datum[]): Float32Array[] {
  return arraysOf(answer, data, 'logprobs').map(
    (said, index) => said ?? mustFit([], data[index], index, 'logprobs'),
  );
}

/**
 * A critic's values per datum [L]; NaN where the weight is 0.
 * @throws TinkerError `request` if the service returned something else
 */
export function valuesOf(answer: Json, data: readonly Datum[]): Float32Array[] {
  const values = valuesIfSaid(answer, data);
  if (values !== undefined) return values;
  throw new TinkerError(
    'request',
    'the service answered no values: it has made a model of role critic, but knows no critics',
  );
}

/** Services may omit values of a training step. */
export function valuesIfSaid(answer: Json, data: readonly Datum[]): Float32Array[] | undefined {
  const values = arraysOf(answer, data, 'values');
  return values.every((each) => each !== undefined) ? values : undefined;
}

const CALLED = { logprobs: 'log-probabilities', values: 'values' } as const;
type Said = keyof typeof CALLED;

/** One array per datum, undefined where the datum has none of this name. */
function arraysOf(answer: Json, data: readonly Datum[], name: Said): (Float32Array | undefined)[] {
  const outputs = Array.isArray(answer.loss_fn_outputs) ? (answer.loss_fn_outputs as unknown[]) : [];
  if (outputs.length !== data.length) {
    throw new TinkerError('worker', `the service answered ${outputs.length} outputs to ${data.length} data`);
  }
  return data.map((datum, index) => {
    const said = (outputs[index] as Partial<Record<Said, { data?: number[] }>>)[name]?.data;
    return said === undefined ? undefined : mustFit(said, datum, index, name);
  });
}

function mustFit(said: readonly number[], { weights }: Datum, index: number, name: Said): Float32Array {
  if (said.length === weights.length)
    return Float32Array.from(said, (each, place) => (weights[place] === 0 ? Number.NaN : each));
  throw new TinkerError(
    'worker',
    `the service answered ${said.length} ${CALLED[name]} to datum ${index}, which has ${weights.length} positions`,
  );
}

/** Removes the prefixes and the `:` suffixes that services add. */
export function metricsOf({ metrics }: Json): Record<string, number> {
  if (!isRecord(metrics)) return {};
  return Object.fromEntries(
    Object.entries(metrics).flatMap(([name, value]) =>
      typeof value === 'number' ? [[name.replace(/:\w+$/, '').replace(/^skyrl\.ai\//, ''), value]] : [],
    ),
  );
}

/** SkyRL's server ignores `grad_clip_norm` silently. @throws TinkerError `request` */
export function mustClip(
  { metrics }: Json,
  maxGradNorm: number,
  { role, address }: { role: LossModel; address: string },
): void {
  const isSkyRl = isRecord(metrics) && 'skyrl.ai/grad_norm' in metrics;
  if (maxGradNorm <= 0 || !isSkyRl) return;
  throw new TinkerError(
    'request',
    `${role === 'critic' ? 'critic' : 'training'}.max_grad_norm is ${maxGradNorm}, but ${address}, a server of SkyRL, clips no gradient on request: it has to be 0`,
  );
}

/** @throws PluginError that names the missing capability */
export function checkService(
  { maxSequence, extensions }: Service,
  context: EngineContext & { serviceLoss: ServiceLoss },
  address: string,
): void {
  if (context.serviceLoss === 'mean' && extensions.has('weights')) {
    throw new PluginError('option', `engine tinker: service_loss is mean, but ${address} sums: leave it out`);
  }
  // Scoring with other weights needs one more token.
  if (maxSequence !== undefined && maxSequence <= context.maxSequence) {
    throw new PluginError(
      'option',
      `engine tinker: model.max_sequence is ${context.maxSequence}, but the model at ${address} takes ${maxSequence} tokens, one of which is for comparisons: at most ${maxSequence - 1}`,
    );
  }
  if (context.deterministic && !extensions.has('deterministic')) {
    throw new PluginError(
      'option',
      `engine tinker: training.deterministic is nothing that ${address} promises`,
    );
  }
}
