import { constants } from 'node:fs';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession } from 'playwright';
import { pageText } from './page-text';

/** Limits of an episode. */
export const MOST_DOWNLOADS = 20;
export const MAX_DOWNLOAD_BYTES = 10 * 2 ** 20;
const MAX_NAME = 200;
/** Names that are kept of the downloads of all pages in the browser, which all sessions receive. */
const MOST_NAMES = 1_000;
/** Interval at which the sizes of files are read while a page may write. */
const WATCH_MS = 50;
/** Chromium's name of a file until it is complete. */
const PARTIAL = '.crdownload';
/** The browser names files itself, so no name of a page is part of a path. */
const GUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

type State = 'partial' | 'complete' | 'refused';

/** A complete download. */
export interface Download {
  /** As the page or its server gives it; empty if the browser does not know it. */
  name: string;
  path: string;
}

export interface DownloadsHost {
  /** A session with the browser, for these downloads alone. */
  session: CDPSession;
  /** The browser's id of the context. */
  contextId: string;
  /** Folder that the browser creates, and that is removed at the end. */
  folder: string;
  note(outcome: string): void;
}

/**
 * The downloads of one episode. The browser writes each into a file that it names, and reports the page's name apart.
 * Sizes are read from the files, because the browser reports nothing of downloads whose frame is gone.
 */
export class Downloads {
  /** The newest names that the browser has reported, of any page. */
  private readonly names = new Map<string, string>();
  private readonly known = new Map<string, { state: State; name: string | undefined }>();
  private watch: NodeJS.Timeout | undefined;
  private looking: Promise<void> | null = null;

  private constructor(private readonly host: DownloadsHost) {
    host.session.on('Browser.downloadWillBegin', ({ guid, suggestedFilename }) => {
      this.names.set(guid, pageText(suggestedFilename.slice(0, MAX_NAME), Infinity));
      if (this.names.size > MOST_NAMES) this.names.delete(this.names.keys().next().value!);
    });
  }

  static async begin(host: DownloadsHost): Promise<Downloads> {
    const { session, contextId: browserContextId, folder: downloadPath } = host;
    const behavior = { behavior: 'allowAndName', downloadPath, eventsEnabled: true } as const;
    const downloads = new Downloads(host);
    await session.send('Browser.setDownloadBehavior', { ...behavior, browserContextId });
    downloads.watch = setInterval(() => void downloads.look(), WATCH_MS).unref();
    return downloads;
  }

  /** The complete downloads, after those in progress, or after the given time. */
  async complete(milliseconds: number): Promise<Download[]> {
    const until = performance.now() + milliseconds;
    await this.look();
    while (this.isAnyPartial() && performance.now() < until) {
      await sleep(WATCH_MS);
      await this.look();
    }
    return [...this.known].flatMap(([guid, { state, name = this.names.get(guid) ?? '' }]) =>
      state === 'complete' ? [{ name, path: join(this.host.folder, guid) }] : [],
    );
  }

  /** Deletes the files; the context must be closed. Never throws. */
  async end(): Promise<void> {
    clearInterval(this.watch);
    await this.looking;
    await rm(this.host.folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
  }

  /** Notes what has been downloaded since the last call, and cancels what exceeds the limits. */
  look(): Promise<void> {
    this.looking ??= this.read().finally(() => {
      this.looking = null;
    });
    return this.looking;
  }

  private async read(): Promise<void> {
    const files = await readdir(this.host.folder).catch(() => []);
    for (const file of files) {
      const guid = file.replace(PARTIAL, '');
      const state = this.known.get(guid)?.state;
      if (!GUID.test(guid) || state === 'complete' || state === 'refused') continue;
      await this.readFile(guid, file);
    }
    // A file that is gone was not completed.
    for (const [guid, { state }] of this.known) {
      if (state !== 'partial' || files.some((file) => file.startsWith(guid))) continue;
      this.known.delete(guid);
      this.host.note('download_failed');
    }
  }

  private async readFile(guid: string, file: string): Promise<void> {
    const { size } = await stat(join(this.host.folder, file)).catch(() => ({ size: 0 }));
    if (size > MAX_DOWNLOAD_BYTES) return this.refuse(guid, 'download_too_large');
    if (!this.known.has(guid) && this.known.size >= MOST_DOWNLOADS)
      return this.refuse(guid, 'download_blocked');
    const isPartial = file.endsWith(PARTIAL);
    const name = this.known.get(guid)?.name ?? this.names.get(guid);
    this.known.set(guid, { state: isPartial ? 'partial' : 'complete', name });
    if (!isPartial) this.host.note('file_downloaded');
  }

  private async refuse(guid: string, outcome: string): Promise<void> {
    const { session, contextId: browserContextId, folder } = this.host;
    this.known.set(guid, { state: 'refused', name: undefined });
    this.host.note(outcome);
    await session.send('Browser.cancelDownload', { guid, browserContextId }).catch(() => undefined);
    await rm(join(folder, guid), { force: true }).catch(() => undefined);
  }

  private isAnyPartial(): boolean {
    return [...this.known.values()].some(({ state }) => state === 'partial');
  }
}

/** The content as text with `\n` as line break; null if it is not in UTF-8, or cannot be read. */
export async function textOf({ path }: Download): Promise<string | null> {
  // The browser's user owns the folder, and could place anything there.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => null,
  );
  if (file === null) return null;
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > MAX_DOWNLOAD_BYTES) return null;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(found.size), 0, found.size, 0);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, bytesRead));
    return text.replaceAll(/\r\n?/g, '\n');
  } catch {
    return null;
  } finally {
    await file.close();
  }
}
