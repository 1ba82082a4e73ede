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
  /** Hugging Face folder, name on the hub or name in `UIRL_MODELS`; clients use the same name. */
  model: string;
  /** Folder for checkpoints. */
  dir: string;
  /** Default 127.0.0.1; an address beyond loopback requires keys. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  /** API keys, one of which clients must send. Without keys, every client that reaches the address has access. */
  keys?: readonly string[];
  /** Longest sequence, prompt and answer together, in tokens. Default 4,096. */
  maxSequence?: number;
  /** Number of sequences to sample at the same time. Default 16. */
  rows?: number;
  /** Threads of the device. Default: one per core. */
  threads?: number;
  /** Makes results independent of the other work in a batch and of the position in it. Default false. */
  deterministic?: boolean;
  /** Maximum request size in bytes. Default 64 MiB. */
  maxBodyBytes?: number;
  signal?: AbortSignal;
  onProgress?: (line: string) => void;
}

export interface ServedTinker {
  /** `http://127.0.0.1:40123`. */
  url: string;
  /** Resolves with the error when the engine has failed. */
  ended: Promise<Error>;
  /** Stops all work and releases the device. */
  stop(): Promise<void>;
}

const MAX_BODY_BYTES = 64 * 2 ** 20;

/** Serves a model through Tinker's API: clients train adapters for it on the device of this machine. */
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
    threads,
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
