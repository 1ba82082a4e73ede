import { type Datum, type EngineContext, isRecord, PluginError } from '@ui-rl/plugin-kit';
import type { Json } from './connection';
import { TinkerError } from './errors';
import type { ServiceLoss } from './options';
import type { Service } from './session';

/** Per datum [L]; NaN where the weight is 0. */
export function logprobsOf(answer: Json, data: readonly Datum[]): Float32Array[] {
  const outputs = Array.isArray(answer.loss_fn_outputs) ? answer.loss_fn_outputs : [];
  if (outputs.length !== data.length) {
    throw new TinkerError('worker', `the service answered ${outputs.length} outputs to ${data.length} data`);
  }
  return data.map(({ weights }, index) => {
    const { logprobs } = outputs[index] as { logprobs?: { data?: number[] } };
    const said = logprobs?.data ?? [];
    if (said.length !== weights.length) {
      throw new TinkerError(
        'worker',
        `the service answered ${said.length} log-probabilities to datum ${index}, which has ${weights.length} positions`,
      );
    }
    return Float32Array.from(said, (each, place) => (weights[place] === 0 ? Number.NaN : each));
  });
}

/** Without what services put behind a colon, or before the name. */
export function metricsOf({ metrics }: Json): Record<string, number> {
  if (!isRecord(metrics)) return {};
  return Object.fromEntries(
    Object.entries(metrics).flatMap(([name, value]) =>
      typeof value === 'number' ? [[name.replace(/:\w+$/, '').replace(/^skyrl\.ai\//, ''), value]] : [],
    ),
  );
}

/** SkyRL's server reads no `grad_clip_norm`, and does not say so. @throws TinkerError `request` */
export function mustClip({ metrics }: Json, maxGradNorm: number, address: string): void {
  const isSkyRl = isRecord(metrics) && 'skyrl.ai/grad_norm' in metrics;
  if (maxGradNorm <= 0 || !isSkyRl) return;
  throw new TinkerError(
    'request',
    `training.max_grad_norm is ${maxGradNorm}, but ${address}, a server of SkyRL, clips no gradient on request: it has to be 0`,
  );
}

/** @throws PluginError that names what the service lacks */
export function checkService(
  { maxSequence, extensions }: Service,
  context: EngineContext & { serviceLoss: ServiceLoss },
  address: string,
): void {
  if (context.serviceLoss === 'mean' && extensions.has('weights')) {
    throw new PluginError('option', `engine tinker: service_loss is mean, but ${address} sums: leave it out`);
  }
  // A comparison with other weights asks for one token more.
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
