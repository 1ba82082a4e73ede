import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { LocalEngine, shareReporter } from '@ui-rl/engine';
import { loadModelFolder } from '@ui-rl/models';
import { isLoopback } from '@ui-rl/openai-api';
import { readCliSettings } from '@ui-rl/settings';
import { openTinkerServer, RequestImages, USUAL_LIMITS, type ServingLimits } from '@ui-rl/tinker-api';
import { deviceFor, type EngineChoice } from '../model/engine-choice';
import { modelFolder } from '../model/model-folder';

export interface ServeTinkerOptions extends Partial<EngineChoice>, Partial<ServingLimits> {
  /** Hugging Face folder, name on the hub or name of `UIRL_MODELS`; clients name it in the same way. */
  model: string;
  /** Where checkpoints are kept. */
  dir: string;
  /** Default 127.0.0.1; beyond loopback keys are needed. */
  host?: string;
  /** Default 0: a free one. */
  port?: number;
  /** What clients have to show, one of them; none: whoever reaches the address. */
  keys?: readonly string[];
  /** Longest sequence, prompt and answer together, in tokens. Default 4,096. */
  maxSequence?: number;
  /** Sequences that are sampled at the same time. Default 16. */
  rows?: number;
  /** Threads of the device; default: one per core. */
  threads?: number;
  /** Whether a result depends neither on what is computed beside it nor on its place there. Default false. */
  deterministic?: boolean;
  /** Longest request in bytes. Default 64 MiB. */
  maxBodyBytes?: number;
  signal?: AbortSignal;
  onProgress?: (line: string) => void;
}

export interface ServedTinker {
  /** `http://127.0.0.1:40123`. */
  url: string;
  /** Resolves with what went wrong when the engine is gone. */
  ended: Promise<Error>;
  /** Ends what is in progress, and releases the device. */
  stop(): Promise<void>;
}

const MAX_BODY_BYTES = 64 * 2 ** 20;

/** Offers a model to clients of Tinker's API, who train adapters over it on the device of this machine. */
export async function serveTinker(options: ServeTinkerOptions): Promise<ServedTinker> {
  const { host = '127.0.0.1', keys = [], onProgress = () => undefined, signal } = options;
  if (keys.length === 0 && !isLoopback(host)) {
    throw new Error(
      `listening on ${host} lets other machines in: set TINKER_SERVER_KEYS, of which clients have to show one`,
    );
  }
  const modelDir = await modelFolder(options.model, { signal, onProgress });
  const { maxSequence = 4096, rows = 16, threads, deterministic = false } = options;
  const { device = 'auto', dtype = 'auto', quantization = 'none' } = options;
  const { cacheDir } = readCliSettings();
  const onCopy = shareReporter(onProgress, 'a copy of the weights in another type is made');
  const folder = await loadModelFolder(modelDir, { weights: dtype, cacheDir, onProgress: onCopy });
  const images = new RequestImages(folder);
  const engine = await LocalEngine.start({
    modelDir,
    cacheDir,
    imageProcessor: folder.imageProcessor,
    fetchImage: images.fetch,
    device: await deviceFor(device, onProgress),
    weights: dtype,
    quantization,
    ...(threads === undefined ? {} : { threads }),
    models: [],
    maxRows: rows,
    maxSequence,
    deterministic,
    seed: 0,
    onProgress,
  });
  try {
    const { tokenizer, family, imageProcessor } = folder;
    const tokenizerId = existsSync(options.model) || options.model === 'small' ? modelDir : options.model;
    const server = await openTinkerServer({
      model: {
        name: options.model,
        tokenizerId,
        engine,
        tokenizer,
        family,
        imageProcessor,
        maxSequence,
        deterministic,
      },
      images,
      dir: resolve(options.dir),
      limits: limitsOf(options),
      host,
      port: options.port ?? 0,
      keys,
      maxBodyBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
    });
    const stop = async (): Promise<void> => {
      await server.close();
      await engine.stop();
    };
    return { url: server.url, ended: engine.ended, stop };
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

function limitsOf(options: ServeTinkerOptions): ServingLimits {
  const names = Object.keys(USUAL_LIMITS) as (keyof ServingLimits)[];
  return Object.fromEntries(
    names.map((name) => [name, options[name] ?? USUAL_LIMITS[name]]),
  ) as unknown as ServingLimits;
}
