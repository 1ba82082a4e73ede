import { Graph, ops, Session, type DeviceMemory, type SessionOptions, type Tensor } from '@ui-rl/graph';
import {
  Parameters,
  type LinearSpec,
  type LoraPlan,
  type ParameterSource,
  type WeightStore,
} from '@ui-rl/models';
import { feedsOf, type WeightSet } from './weight-set';

/** Up to this many weights, adapted layers are sampled from with the adapter merged in: a quarter of a gigabyte. */
const MERGE_LIMIT = 64 * 1024 * 1024;

/** The weights as inputs of the decoder's sampling graphs. */
export interface SamplingWeights {
  /** Creates a source for each graph. */
  parameters(): ParameterSource;
  /** Inputs of a graph that was built with `parameters`. */
  feeds(weights: WeightSet, names: readonly string[]): Promise<Record<string, Tensor>>;
  release(): Promise<void>;
}

/** Weights as in training: all of them, or adapters beside frozen ones. */
export function trainedWeights(parameters: () => ParameterSource, memory: DeviceMemory): SamplingWeights {
  return {
    parameters,
    feeds: (weights, names) => feedsOf(weights, memory, names),
    release: async () => undefined,
  };
}

/**
 * Whether a plan's decoder layers are small enough to keep a merged copy per policy version. Experts are not merged,
 * because a graph reads them from the file one by one.
 */
export function canMerge(plan: LoraPlan): boolean {
  if (decoderModules(plan).some(({ stack }) => stack !== undefined)) return false;
  const size = decoderModules(plan).reduce(
    (sum, { inFeatures, outFeatures }) => sum + inFeatures * outFeatures,
    0,
  );
  return size > 0 && size <= MERGE_LIMIT;
}

function decoderModules(plan: LoraPlan): LinearSpec[] {
  return plan.modules.filter(({ part }) => part === 'text');
}

/**
 * Frozen weights with the adapter merged in, W + scale · BA, computed once per policy version: decoding then costs as
 * much as without an adapter.
 */
export class MergedWeights implements SamplingWeights {
  private constructor(
    private readonly store: WeightStore,
    /** weight name → name of the session output with the merged weight */
    private readonly outputs: ReadonlyMap<string, string>,
    private readonly session: Session,
    private readonly memory: DeviceMemory,
    private readonly adapterNames: readonly string[],
  ) {}

  static async create(
    store: WeightStore,
    plan: LoraPlan,
    options: SessionOptions,
    memory: DeviceMemory,
  ): Promise<MergedWeights> {
    const modules = decoderModules(plan);
    const graph = new Graph('merge');
    const source = new Parameters({ weights: store, lora: plan });
    const outputs = new Map<string, string>();
    for (const { name, inFeatures, outFeatures } of modules) {
      const weight = source.get(graph, weightName(name), [outFeatures, inFeatures]);
      const { a, b, scale } = source.lora(graph, name, inFeatures, outFeatures)!;
      const output = `merged ${weightName(name)}`;
      graph.output(output, ops.gemm(b, a, weight, { alpha: scale }));
      outputs.set(weightName(name), output);
    }
    const session = await Session.create(graph, { ...options, outputLocation: memory.location });
    return new MergedWeights(store, outputs, session, memory, [...source.inputs.keys()]);
  }

  parameters(): ParameterSource {
    return new Parameters({ weights: this.store, inputs: (name) => this.outputs.has(name) });
  }

  async feeds(weights: WeightSet, names: readonly string[]): Promise<Record<string, Tensor>> {
    const merged = await weights.derive(this, () => this.merge(weights));
    return Object.fromEntries(names.map((name) => [name, merged[name]]));
  }

  async release(): Promise<void> {
    await this.session.release();
  }

  private async merge(weights: WeightSet): Promise<Record<string, Tensor>> {
    const results = await this.session.run(await feedsOf(weights, this.memory, this.adapterNames));
    return Object.fromEntries(Array.from(this.outputs, ([name, output]) => [name, results[output]]));
  }
}

function weightName(module: string): string {
  return `${module}.weight`;
}
