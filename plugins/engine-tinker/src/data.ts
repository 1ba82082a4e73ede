import type { Datum, ModelInput, ModelInputChunk } from '@ui-rl/plugin-kit';
import { TinkerError } from './errors';
import type { ChosenLoss } from './losses';
import type { ServiceLoss } from './options';

/** An image's bytes by hash; null if it is no longer available. */
export type FetchImage = (sha256: string) => Promise<Uint8Array | null>;

/** A model input in the service's format. @throws TinkerError `request` */
export async function wireInput({ chunks }: ModelInput, fetchImage: FetchImage): Promise<object> {
  return { chunks: await Promise.all(chunks.map((chunk) => wireChunk(chunk, fetchImage))) };
}

const JPEG = [0xff, 0xd8, 0xff];

async function wireChunk(chunk: ModelInputChunk, fetchImage: FetchImage): Promise<object> {
  if (chunk.type === 'text') return { type: 'encoded_text', tokens: Array.from(chunk.tokens) };
  const { sha256, tokens, continues } = chunk;
  if (continues === true) {
    throw new TinkerError(
      'request',
      `image ${sha256} is shown in several parts with text between them, which Tinker's API cannot say`,
    );
  }
  const bytes = await fetchImage(sha256);
  if (bytes === null) throw new TinkerError('request', `no store has the bytes of image ${sha256} any more`);
  const format = JPEG.every((byte, index) => bytes[index] === byte) ? 'jpeg' : 'png';
  return { type: 'image', data: Buffer.from(bytes).toString('base64'), format, expected_tokens: tokens };
}

export interface WireOptions {
  fetchImage: FetchImage;
  /**
   * Whether the service multiplies a token's loss by its weight; otherwise advantages are multiplied before sending.
   */
  takesWeights: boolean;
  serviceLoss: ServiceLoss;
}

/** Data in the service's format. @throws TinkerError `request` if they need an unsupported feature */
export async function wireData(
  data: readonly Datum[],
  loss: ChosenLoss,
  options: WireOptions,
): Promise<object[]> {
  return Promise.all(
    data.map((datum, index) => wireDatum(datum, index, loss, { ...options, count: data.length })),
  );
}

async function wireDatum(
  datum: Datum,
  index: number,
  { name, inputs }: ChosenLoss,
  { fetchImage, takesWeights, serviceLoss, count }: WireOptions & { count: number },
): Promise<object> {
  checkPlain(datum, index);
  const { modelInput, targetTokens, weights, lossInputs = {} } = datum;
  const arrays = Object.entries(inputs).map(([theirs, ours]): [string, number[]] => {
    const array = lossInputs[ours];
    if (array !== undefined) return [theirs, Array.from(array)];
    throw new TinkerError('request', `datum ${index} has no ${ours}, which the loss ${name} reads`);
  });
  const sent =
    KNOW_WEIGHTS.has(name) || takesWeights
      ? [...arrays, ['weights', Array.from(weights)] as const]
      : serviceLoss === 'mean'
        ? undoingMeans(arrays, weights, name, count)
        : weighted(arrays, weights, name);
  const tensor = (values: readonly number[], dtype: string): object => ({
    data: values,
    dtype,
    shape: [values.length],
  });
  return {
    model_input: await wireInput(modelInput, fetchImage),
    loss_fn_inputs: {
      target_tokens: tensor(Array.from(targetTokens), 'int64'),
      ...Object.fromEntries(sent.map(([key, values]) => [key, tensor(values, 'float32')])),
    },
  };
}

/** Losses for which every service with token weights applies them. */
const KNOW_WEIGHTS = new Set(['cross_entropy', 'ppo_critic']);

/** Losses that scale linearly with the advantages. */
const HOMOGENEOUS = new Set(['importance_sampling', 'ppo', 'cispo', 'dppo']);

function weighted(
  arrays: readonly (readonly [string, number[]])[],
  weights: ArrayLike<number>,
  loss: string,
): (readonly [string, number[]])[] {
  if (!HOMOGENEOUS.has(loss)) {
    throw new TinkerError('request', `the service takes no weights of tokens, which the loss ${loss} needs`);
  }
  return arrays.map(([name, values]) =>
    name === 'advantages' ? [name, values.map((each, place) => each * weights[place])] : [name, values],
  );
}

/**
 * For a service that averages over the weights of a sequence and the sequences of a step. Each trained token gets
 * weight 1, and the advantages are multiplied by the divisor, so that the gradient is that of the sum.
 */
function undoingMeans(
  arrays: readonly (readonly [string, number[]])[],
  weights: ArrayLike<number>,
  loss: string,
  count: number,
): (readonly [string, number[]])[] {
  const isTrained = Array.from(weights, (each) => (each === 0 ? 0 : 1));
  const divisor = count * isTrained.filter(Boolean).length;
  const scaled = Array.from(weights, (each) => each * divisor);
  return [...weighted(arrays, scaled, loss), ['weights', isTrained]];
}

/** @throws TinkerError `request` if log-probabilities belong to a distribution other than the service's */
export function checkPlain({ temperature = 1, keptTokens, pair }: Datum, index: number): void {
  if (temperature !== 1 && temperature !== 0) {
    throw new TinkerError(
      'request',
      `datum ${index} was sampled at temperature ${temperature}; Tinker's API trains at 1 only (rollout.temperature)`,
    );
  }
  if (keptTokens?.some(({ length }) => length > 0) === true) {
    throw new TinkerError(
      'request',
      `datum ${index} was sampled from distributions that were cut; Tinker's API trains on whole ones`,
    );
  }
  if (pair !== undefined)
    throw new TinkerError('request', `datum ${index} is one of a pair; Tinker's API knows none`);
}

/** The tokens of an input and the one that follows, undefined at image positions. */
export function tokensOf({ modelInput: { chunks } }: Datum): (number | undefined)[] {
  return chunks.flatMap((chunk) =>
    chunk.type === 'text' ? Array.from(chunk.tokens) : new Array<undefined>(chunk.tokens).fill(undefined),
  );
}
