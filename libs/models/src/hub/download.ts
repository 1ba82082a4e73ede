import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DEADLINES, pauseAfter, RETRIES, sleep } from '@ui-rl/retry';
import { RANGE_NOT_SATISFIABLE, type HubClient, type HubFile } from './client';
import { diskError, HubError } from './errors';
import type { HubOptions } from './options';
import type { Progress } from './progress';

/** A file to download from the hub. */
export interface Download {
  id: string;
  commit: string;
  file: HubFile;
  /** final path of the complete file */
  to: string;
  progress: Progress;
}

const SHA256_LENGTH = 64;

/** The received part of a file, with its running hash. */
class PartialFile {
  received = 0;
  private hash: Hash;

  private constructor(
    private readonly handle: FileHandle,
    private readonly file: HubFile,
  ) {
    this.hash = newHash(file);
  }

  static async open(path: string, file: HubFile): Promise<PartialFile> {
    const partial = new PartialFile(await open(path, constants.O_RDWR | constants.O_CREAT), file);
    await partial.readBack();
    return partial;
  }

  async add(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await this.handle.write(
        bytes,
        done,
        bytes.length - done,
        this.received + done,
      );
      done += bytesWritten;
    }
    this.hash.update(bytes);
    this.received += bytes.length;
  }

  async restart(): Promise<void> {
    await this.handle.truncate(0);
    this.received = 0;
    this.hash = newHash(this.file);
  }

  /** Whether the received bytes match the announced hash. */
  isGenuine(): boolean {
    return this.received === this.file.sizeBytes && this.hash.copy().digest('hex') === this.file.blob;
  }

  async close(): Promise<void> {
    try {
      await this.handle.sync();
    } finally {
      await this.handle.close();
    }
  }

  /** Hashes the bytes that an earlier attempt left. */
  private async readBack(): Promise<void> {
    const { size } = await this.handle.stat();
    if (size > this.file.sizeBytes) return this.restart();
    const buffer = new Uint8Array(2 ** 20);
    for (;;) {
      const { bytesRead } = await this.handle.read(buffer, 0, buffer.length, this.received);
      if (bytesRead === 0) return;
      this.hash.update(buffer.subarray(0, bytesRead));
      this.received += bytesRead;
    }
  }
}

/** sha256 of the bytes for large files, git's blob hash for others. */
function newHash({ blob, sizeBytes }: HubFile): Hash {
  if (blob.length === SHA256_LENGTH) return createHash('sha256');
  return createHash('sha1').update(`blob ${sizeBytes}\0`);
}

/** Downloads a file; an interrupted transfer resumes, in this call or a later one. */
export async function download(client: HubClient, job: Download, options: HubOptions): Promise<void> {
  await mkdir(dirname(job.to), { recursive: true });
  const path = `${job.to}.ui-rl.incomplete`;
  const partial = await PartialFile.open(path, job.file);
  try {
    const resumed = partial.received > 0;
    job.progress.found(partial.received);
    await receiveAll(client, job, partial, options);
    if (!partial.isGenuine() && resumed) {
      // The bytes of the earlier attempt may belong to another file.
      job.progress.found(-partial.received);
      await partial.restart();
      await receiveAll(client, job, partial, options);
    }
  } catch (cause) {
    throw diskError(path, cause);
  } finally {
    await partial.close();
  }
  if (!partial.isGenuine()) {
    await rm(path, { force: true });
    const message = `${job.id}: ${job.file.path} arrived damaged: its hash is not ${job.file.blob}, which the hub announced`;
    throw new HubError(
      'damaged',
      `${message}; start again, and where it stays so, look at what stands between`,
    );
  }
  await rename(path, job.to);
}

async function receiveAll(
  client: HubClient,
  job: Download,
  partial: PartialFile,
  options: HubOptions,
): Promise<void> {
  let failures = 0;
  while (partial.received < job.file.sizeBytes) {
    const before = partial.received;
    const error: unknown = await receive(client, job, partial, options).catch((reason: unknown) => reason);
    const lost = error === undefined || (error instanceof HubError && error.kind === 'unreachable');
    failures = partial.received > before ? 0 : failures + 1;
    if (!lost || failures >= RETRIES.hubDownload.attempts) {
      throw error ?? new HubError('unreachable', `${job.id}: ${job.file.path} is sent without its end`);
    }
    if (partial.received < job.file.sizeBytes) await pause(failures, options);
  }
}

/** Waits before a retry; the pause grows with consecutive attempts that received nothing. */
async function pause(failures: number, { retry = RETRIES.hubDownload, signal }: HubOptions): Promise<void> {
  await sleep(pauseAfter(retry, Math.max(1, failures)), signal);
  if (signal?.aborted === true) throw new HubError('stopped', 'the download was stopped');
}

/** Sends one request and appends the response. */
async function receive(
  client: HubClient,
  job: Download,
  partial: PartialFile,
  options: HubOptions,
): Promise<void> {
  const { id, commit, file, progress } = job;
  const watch = new StallWatch(options);
  try {
    const response = await client.download(id, commit, file.path, partial.received, watch.signal);
    if (partial.received > 0 && !continues(response, partial.received)) {
      progress.found(-partial.received);
      await partial.restart();
      if (response.status === RANGE_NOT_SATISFIABLE || response.status === PARTIAL_CONTENT) {
        await response.body?.cancel();
        return;
      }
    }
    for await (const bytes of chunks(response, options, watch)) {
      if (partial.received + bytes.length > file.sizeBytes) {
        await partial.restart();
        throw new HubError(
          'damaged',
          `${id}: ${file.path} is longer than the ${file.sizeBytes} bytes announced`,
        );
      }
      await partial.add(bytes);
      progress.add(bytes.length);
    }
  } finally {
    watch.stop();
  }
}

const PARTIAL_CONTENT = 206;

/** Whether a response starts where the existing bytes end. */
function continues(response: Response, offset: number): boolean {
  const range = response.headers.get('content-range') ?? '';
  return response.status === PARTIAL_CONTENT && new RegExp(`^bytes ${offset}-`).test(range);
}

async function* chunks(
  response: Response,
  { signal }: HubOptions,
  watch: StallWatch,
): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        if (signal?.aborted === true) throw new HubError('stopped', 'the download was stopped', { cause });
        throw new HubError('unreachable', 'the connection broke off', { cause });
      });
      if (done) return;
      watch.touch();
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Aborts a request that stalls. */
class StallWatch {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  readonly signal: AbortSignal;

  constructor({ signal, stallMs = DEADLINES.hubStall.ms }: HubOptions) {
    this.timer = setTimeout(() => this.controller.abort(new Error('no bytes in time')), stallMs);
    this.signal =
      signal === undefined ? this.controller.signal : AbortSignal.any([signal, this.controller.signal]);
  }

  touch(): void {
    this.timer.refresh();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
