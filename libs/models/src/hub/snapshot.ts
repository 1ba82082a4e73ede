import { mkdir, statfs } from 'node:fs/promises';
import { RETRIES, retry } from '@ui-rl/retry';
import { isCompanionFile } from '../model-files';
import { HubCache, exists } from './cache';
import { HubClient, type HubFile } from './client';
import { download } from './download';
import { diskError, HubError } from './errors';
import { withLock } from './lock';
import { isCommit, type HubModel } from './name';
import type { HubOptions } from './options';
import { Progress } from './progress';

/** A repository's files at one commit, in the cache. */
export interface Snapshot {
  dir: string;
  commit: string;
}

export interface SnapshotOptions extends HubOptions {
  /** whether to fetch the weights, too; default true */
  weights?: boolean;
}

const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';
/** Number of concurrent downloads. */
const PARALLEL = 4;

/**
 * The files of a model as a folder: from the cache, or fetched to it. Without a connection it uses the cached files
 * and reports that to `onProgress`.
 * @throws HubError
 */
export async function fetchSnapshot(model: HubModel, options: SnapshotOptions): Promise<Snapshot> {
  const cache = new HubCache(options.cacheDir, model.id);
  const cached = await cachedSnapshot(cache, model, options);
  if (cached !== undefined && isCommit(model.revision)) return cached;
  if (options.offline === true) return cached ?? refuseOffline(model, options);
  try {
    return await new Fetcher(
      await HubClient.create(options),
      cache,
      model,
      options,
      cached === undefined,
    ).run();
  } catch (error) {
    const fallsBack = error instanceof HubError && ['unreachable', 'denied'].includes(error.kind);
    if (!fallsBack || cached === undefined) throw error;
    options.onProgress?.(
      `${error.message}; taking ${model.id} as it is in the cache, commit ${cached.commit}`,
    );
    return cached;
  }
}

function refuseOffline({ id, revision }: HubModel, { cacheDir }: HubOptions): never {
  throw new HubError(
    'offline',
    `${id}@${revision} is not complete in the cache ${cacheDir}, and HF_HUB_OFFLINE forbids fetching it; ` +
      'fetch it once without, or name a folder',
  );
}

/** The last known snapshot of a revision, if it is complete. */
async function cachedSnapshot(
  cache: HubCache,
  model: HubModel,
  { weights = true }: SnapshotOptions,
): Promise<Snapshot | undefined> {
  const commit = await cache.commitOf(model);
  if (commit === undefined) return undefined;
  const has = (...names: string[]): Promise<boolean> => anyOf(names.map((name) => cache.has(commit, name)));
  const complete =
    (await has('config.json')) &&
    (await has('tokenizer.json')) &&
    (await has('preprocessor_config.json', 'processor_config.json')) &&
    (await has(
      'chat_template.jinja',
      'chat_template.json',
      'processor_config.json',
      'tokenizer_config.json',
    )) &&
    (!weights || (await hasWeights(cache, commit)));
  return complete ? { dir: cache.snapshot(commit), commit } : undefined;
}

async function anyOf(answers: Promise<boolean>[]): Promise<boolean> {
  return (await Promise.all(answers)).includes(true);
}

async function hasWeights(cache: HubCache, commit: string): Promise<boolean> {
  if (await cache.has(commit, SINGLE)) return true;
  const shards = (await cache.shards(commit)) ?? [];
  const found = await Promise.all(shards.map((name) => cache.has(commit, name)));
  return found.length > 0 && !found.includes(false);
}

/** Fetches the missing files of a snapshot. */
class Fetcher {
  private waits = false;

  constructor(
    private readonly client: HubClient,
    private readonly cache: HubCache,
    private readonly model: HubModel,
    private readonly options: SnapshotOptions,
    /** whether to retry when the hub does not answer */
    private readonly patient: boolean,
  ) {}

  async run(): Promise<Snapshot> {
    const { model, cache } = this;
    const commit = await this.ask(() => this.client.commitOf(model));
    const files = await this.ask(() => this.client.files(model.id, commit));
    const named = new Map(files.map((file) => [file.path, file]));
    if (!named.has('config.json')) {
      throw new HubError('unusable', `${model.id} has no config.json: it holds no model that can be loaded`);
    }
    const small = files.filter(({ path }) => path === 'config.json' || isCompanionFile(path));
    await this.bring(commit, small);
    if (this.options.weights !== false) await this.bringWeights(commit, named);
    // Stored last, because a cached revision implies a complete snapshot.
    await cache.keepCommit(model, commit).catch((error: unknown) => {
      const cause = diskError(cache.snapshot(commit), error);
      if (!(cause instanceof HubError)) throw error;
    });
    return { dir: cache.snapshot(commit), commit };
  }

  private async bringWeights(commit: string, named: ReadonlyMap<string, HubFile>): Promise<void> {
    const single = named.get(SINGLE);
    if (single !== undefined) return this.bring(commit, [single]);
    const index = named.get(INDEX);
    if (index === undefined) throw this.withoutSafetensors([...named.keys()]);
    await this.bring(commit, [index]);
    const names = (await this.cache.shards(commit)) ?? [];
    const shards = names.map((name) => named.get(name));
    const missing = names.find((name) => !named.has(name));
    if (names.length === 0 || missing !== undefined) {
      const found =
        missing === undefined
          ? 'names no weight files'
          : `names ${JSON.stringify(missing)}, which is not there`;
      throw new HubError('unusable', `${this.model.id}: ${INDEX} ${found}`);
    }
    await this.bring(commit, shards as HubFile[]);
  }

  private withoutSafetensors(names: readonly string[]): HubError {
    const other = names.filter((name) => /\.(bin|pt|pth|gguf|h5|msgpack|onnx)$/.test(name));
    const found = other.length === 0 ? 'no weights' : `weights only as ${other.join(', ')}`;
    return new HubError(
      'unusable',
      `${this.model.id} has ${found}; expected ${SINGLE} or ${INDEX}. Take another revision or a repository that has ` +
        'safetensors, or convert it (transformers: from_pretrained, then save_pretrained) and name the folder',
    );
  }

  /** Sends a request to the hub, with retries if it does not answer. */
  private async ask<T>(question: () => Promise<T>): Promise<T> {
    const { signal, retry: pauses } = this.options;
    try {
      return await retry({ ...RETRIES.hubQuestion, ...pauses }, question, {
        signal,
        isTransient: (error) => this.patient && error instanceof HubError && error.kind === 'unreachable',
      });
    } catch (error) {
      if (signal?.aborted === true)
        throw new HubError('stopped', 'the download was stopped', { cause: error });
      throw error;
    }
  }

  /** Adds files to the snapshot, with a limited number of concurrent downloads. */
  private async bring(commit: string, files: readonly HubFile[]): Promise<void> {
    const missing: HubFile[] = [];
    for (const file of files) if (!(await this.cache.has(commit, file.path))) missing.push(file);
    if (missing.length === 0) return;
    await this.checkRoom(commit, missing);
    const totalBytes = missing.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    const progress = new Progress(this.model.id, totalBytes, this.options.onProgress);
    if (totalBytes > MIN_REPORTED_BYTES) {
      this.options.onProgress?.(
        `fetching ${this.model.id}: ${missing.length} files, ${(totalBytes / 1e9).toFixed(2)} GB`,
      );
    }
    const failed = new AbortController();
    const options = { ...this.options, signal: anySignal(this.options.signal, failed.signal) };
    const queue = [...missing];
    const work = async (): Promise<void> => {
      for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
        await this.bringOne(commit, file, progress, options);
      }
    };
    const workers = Array.from({ length: Math.min(PARALLEL, missing.length) }, () =>
      work().catch((error: unknown) => {
        failed.abort();
        throw error;
      }),
    );
    const results = await Promise.allSettled(workers);
    const reasons = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    // Downloads that were aborted because another failed have no separate error to report.
    const first =
      reasons.find((reason) => !(reason instanceof HubError && reason.kind === 'stopped')) ?? reasons[0];
    if (first !== undefined) throw first;
  }

  private async bringOne(
    commit: string,
    file: HubFile,
    progress: Progress,
    options: HubOptions,
  ): Promise<void> {
    const { cache, model, client } = this;
    const to = cache.blob(file.blob);
    if (!(await exists(to))) {
      const onWait = (): void => this.reportWaiting();
      const fetching = async (): Promise<void> => {
        if (await exists(to)) return progress.found(file.sizeBytes);
        await download(client, { id: model.id, commit, file, to, progress }, options);
      };
      await withLock(cache.lock(file.blob), fetching, { onWait, signal: options.signal }).catch(
        (error: unknown) => {
          if (options.signal?.aborted === true) throw new HubError('stopped', 'the download was stopped');
          throw diskError(cache.lock(file.blob), error);
        },
      );
    }
    await cache.show(file.blob, commit, file.path).catch((error: unknown) => {
      throw diskError(cache.snapshot(commit), error);
    });
  }

  /** Reports only once for all files. */
  private reportWaiting(): void {
    if (!this.waits) this.options.onProgress?.(`waiting for another process that fetches ${this.model.id}`);
    this.waits = true;
  }

  private async checkRoom(commit: string, files: readonly HubFile[]): Promise<void> {
    const dir = this.cache.snapshot(commit);
    await mkdir(dir, { recursive: true }).catch((error: unknown) => {
      throw diskError(dir, error);
    });
    let needed = 0;
    for (const { blob, sizeBytes } of files) if (!(await exists(this.cache.blob(blob)))) needed += sizeBytes;
    const { bavail, bsize } = await statfs(dir);
    if (bavail * bsize >= needed) return;
    const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`;
    throw new HubError(
      'disk',
      `${this.model.id} needs ${gigabytes(needed)} more, but ${this.options.cacheDir} has ${gigabytes(bavail * bsize)} free; ` +
        'free some space, or name another cache folder with HF_HUB_CACHE',
    );
  }
}

/** Smaller downloads finish quickly and are not reported. */
const MIN_REPORTED_BYTES = 50e6;

function anySignal(given: AbortSignal | undefined, own: AbortSignal): AbortSignal {
  return given === undefined ? own : AbortSignal.any([given, own]);
}
