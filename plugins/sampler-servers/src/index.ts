import type { SamplerComponent } from '@ui-rl/plugin-kit';
import { conflictsOf, ServerOptions, VllmOptions } from './options';
import { ServerSampler } from './server-sampler';
import { Sglang } from './sglang';
import { Vllm } from './vllm';

const vllm: SamplerComponent<VllmOptions> = {
  kind: 'sampler',
  name: 'vllm',
  description: 'Samples from servers of vLLM, each version of the adapter under its own name.',
  options: VllmOptions,
  conflicts: (_options, run) => conflictsOf('vllm', run),
  create: (options, context) =>
    Promise.resolve(new ServerSampler(new Vllm(options.load_by), options, context)),
};

const sglang: SamplerComponent<ServerOptions> = {
  kind: 'sampler',
  name: 'sglang',
  description: 'Samples from servers of SGLang, each version of the adapter under its own name.',
  options: ServerOptions,
  conflicts: (_options, run) => conflictsOf('sglang', run),
  create: (options, context) => Promise.resolve(new ServerSampler(new Sglang(), options, context)),
};

export const components = [vllm, sglang];
