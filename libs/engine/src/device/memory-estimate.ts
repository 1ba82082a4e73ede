import { totalmem } from 'node:os';
import {
  activationBytes,
  evaluateDim,
  extentsOf,
  peakBytes,
  planSegments,
  type Graph,
  type Value,
} from '@ui-rl/graph';
import {
  isHeldAsFloat32,
  isMappedAsFloat32,
  loraParameters,
  Parameters,
  predictingNext,
  valueHeadParameters,
  WeightStore,
  type Family,
  type LoraPlan,
} from '@ui-rl/models';
import { CACHE_MEMORY_MB } from '../caches/cache-memory';
import { PREFILL_TOKENS } from '../generation/generator';
import { ACTIVATION_SHARE, trainingShape } from '../passes/choose-runner';
import { HEAD_LOGITS } from '../passes/layer-by-layer';
import { DEFAULT_LIMITS } from '../training/micro-batches';
import { keepsTrainingMemory } from './base';
import { canMerge } from '../weights/sampling-weights';
import { buildScoringGraph, type GraphParts } from '../passes/graphs';

/** A run to estimate: it trains an adapter over frozen weights on the CPU. */
export interface MemoryQuestion {
  family: Family;
  lora: LoraPlan;
  /** weights as stored on disk: bytes, and how many of them are not float32 */
  weightBytes: number;
  halfParameters: number;
  /** sequences generated at once */
  rows: number;
  /** tokens of a sequence, prompt and answer together */
  sequence: number;
}

/** In bytes. Accuracy: README, "Look into a model". */
export interface MemoryEstimate {
  /** frozen weights: pages of their files, shared by all processes and reclaimable when memory is short */
  mappedWeights: number;
  /** weights of a tiny model that are not stored as float32: converted in memory, one copy per session */
  convertedWeights: number;
  /** the adapter in two versions, its gradients in three, and two optimizer moments */
  adapter: number;
  /** decoder layers with the adapter merged in, if they are small enough */
  mergedWeights: number;
  kvCachePerThousandTokens: number;
  kvCache: number;
  /** the largest training pass */
  activations: number;
  layerByLayer: boolean;
  /** additional memory for prefill and sampling */
  sampling: number;
  /** maximum size of caches: prompt prefixes, image features */
  caches: number;
  /** Node, ONNX Runtime, code, sessions, processed images */
  process: number;
  /** total without the mapped weights */
  privateBytes: number;
  /** addition for a critic with such an adapter: it shares the frozen weights and adds only its adapter and head */
  critic: number;
}

const FLOAT = 4;
const HALF = 2;
/** Copies of converted weights: in the store and in the sessions that sample and train. */
const CONVERTED_COPIES = 5;
/** Current and next weights, previous gradients, accumulated gradients and zeros, two moments. */
const ADAPTER_COPIES = 7;
/** A process that has loaded a model of a few megabytes. */
const PROCESS_BYTES = 250e6;
/** One for values, one for training. */
const CRITIC_SESSIONS = 2;
const CRITIC_BYTES = 50e6;
/** States of linear attention before and after a pass. */
const STATE_COPIES = 2;
/** Share of a sequence's tokens that are trained. */
const ANSWER_SHARE = 1 / 8;
/** Memory of a training pass as a multiple of the results that exist at once: kept memory grows by powers of two. */
const WHOLE_FACTOR = 1.3;
const KEPT_FACTOR = 2.6;
/** Memory of a layer's derivatives and results as a multiple of its forward results. */
const LAYER_FACTOR = 1.5;
/** Bytes of the logits that a layer-by-layer pass holds at once; the factor adds their softmax and derivative. */
const HEAD_LOGITS_BYTES = FLOAT * HEAD_LOGITS;
const HEAD_FACTOR = 3;

function mergedParameters({ modules }: LoraPlan): number {
  return modules
    .filter(({ part }) => part === 'text')
    .reduce((sum, { inFeatures, outFeatures }) => sum + inFeatures * outFeatures, 0);
}

/** Estimates a run's memory from the shapes of its graphs. */
export function estimateMemory(question: MemoryQuestion): MemoryEstimate {
  const { family, lora, weightBytes, halfParameters, rows, sequence } = question;
  const { kvLayers, kvHeads, headDim, stateSize } = family.shape;
  const tokenBytes = kvLayers * kvHeads * headDim * 2 * FLOAT;
  const adapted = parametersOf(loraParameters(lora));
  const training = trainingBytes(family, lora, sequence);
  const converted = isHeldAsFloat32(family) ? halfParameters : 0;
  const parts = {
    convertedWeights: CONVERTED_COPIES * FLOAT * converted,
    adapter: ADAPTER_COPIES * FLOAT * adapted,
    mergedWeights: canMerge(lora) ? 2 * FLOAT * mergedParameters(lora) : 0,
    kvCache: rows * (tokenBytes * sequence + STATE_COPIES * FLOAT * stateSize),
    activations: training.bytes,
    sampling: samplingBytes(family, rows, tokenBytes),
    caches: CACHE_MEMORY_MB * 2 ** 20,
    process: PROCESS_BYTES,
  };
  return {
    // Half-precision weights of a small model are mapped from a float32 copy.
    mappedWeights: weightBytes + HALF * ((isMappedAsFloat32(family) ? halfParameters : 0) - converted),
    ...parts,
    kvCachePerThousandTokens: 1_000 * tokenBytes,
    layerByLayer: training.layerByLayer,
    privateBytes: Object.values(parts).reduce((sum, bytes) => sum + bytes, 0),
    critic: criticBytes(family, adapted, converted),
  };
}

function criticBytes(family: Family, adapted: number, converted: number): number {
  const trained = adapted + parametersOf(valueHeadParameters(family.shape));
  return CRITIC_BYTES + FLOAT * (ADAPTER_COPIES * trained + CRITIC_SESSIONS * converted);
}

function parametersOf(tensors: readonly { shape: readonly number[] }[]): number {
  return tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
}

/**
 * Memory of the largest pass over rows of this length: all activations, or one layer's plus the values between
 * layers.
 */
function trainingBytes(
  family: Family,
  lora: LoraPlan,
  sequence: number,
): { bytes: number; layerByLayer: boolean } {
  const weights = WeightStore.ofShapes(family.parameters());
  const parts = (): GraphParts => {
    return { role: 'policy', family, parameters: new Parameters({ weights, lora }), mode: 'none' };
  };
  const count = Math.max(1, Math.min(DEFAULT_LIMITS.rows, Math.floor(DEFAULT_LIMITS.tokens / sequence)));
  const answer = Math.ceil(sequence * ANSWER_SHARE);
  const tokenIds = Array.from({ length: sequence }, () => 0);
  const row = { ...predictingNext(tokenIds, sequence - answer), images: [] };
  const { feeds } = family.trainerFeeds(
    Array.from({ length: count }, () => row),
    [],
    { images: 'none' },
  );
  const whole = trainingShape(parts());
  const extents = extentsOf(whole.inputs, feeds);
  const peak = peakBytes(whole, extents);
  const factor = keepsTrainingMemory(family) ? KEPT_FACTOR : WHOLE_FACTOR;
  if (peak <= totalmem() * ACTIVATION_SHARE) return { bytes: peak * factor, layerByLayer: false };
  const { graph, scores } = buildScoringGraph(parts());
  const logits = FLOAT * family.shape.vocabSize * count * answer;
  return { bytes: layerBytes(graph, scores, extents, logits), layerByLayer: true };
}

function layerBytes(
  graph: Graph,
  scores: Value,
  extents: ReadonlyMap<string, number>,
  logits: number,
): number {
  const { segments } = planSegments(graph, [scores]);
  const sizeOf = ({ shape }: Value): number =>
    shape.reduce<number>((size, dim) => size * evaluateDim(dim, extents), FLOAT);
  const bodies = segments.slice(0, -1);
  const kept = bodies.flatMap(({ writes }) => writes).reduce((sum, value) => sum + sizeOf(value), 0);
  const inside = Math.max(0, ...bodies.map((segment) => activationBytes(segment, extents)));
  return kept + inside * LAYER_FACTOR + Math.min(HEAD_LOGITS_BYTES, logits) * HEAD_FACTOR;
}

/** Logits and their softmax, plus one layer of the largest prefill pass, whose keys and values are copied once. */
function samplingBytes(family: Family, rows: number, tokenBytes: number): number {
  const widest = family
    .linears()
    .filter(({ part }) => part === 'text')
    .reduce((most, { inFeatures, outFeatures }) => Math.max(most, inFeatures + outFeatures), 0);
  const logits = 2 * FLOAT * rows * family.shape.vocabSize;
  return logits + PREFILL_TOKENS * (2 * FLOAT * widest + 2 * tokenBytes);
}
