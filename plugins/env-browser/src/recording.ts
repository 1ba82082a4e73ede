import { mkdir, open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Action, Screenshot } from '@ui-rl/plugin-kit';
import type { CDPSession } from 'playwright';
import { messageOf } from './browser-pool';
import type { TabLog } from './browser-tab';
import { actionPart, beginning, note, picture } from './recording-page';

/** Environment variable of the env service that names the folder. */
export const RECORDINGS = 'BROWSER_RECORDINGS';

/** Interval of pictures between two steps. */
const FRAME_MS = 200;
const JPEG_QUALITY = 60;
const FILE = /^\d{8}T\d{9}Z-[\w.-]+\.html$/;

export interface RecordingLimits {
  /** Maximum size of one recording. */
  maxBytes: number;
  /** Maximum size of all recordings in the folder; the oldest are deleted first. */
  totalBytes: number;
}

interface Frame {
  data: string;
  sessionId: number;
}

/** The recording of an episode as an HTML page: every observed screen, every action, and pictures in between. */
export class Recording {
  private readonly begun = performance.now();
  private writing: Promise<unknown> = Promise.resolve();
  private bytes = 0;
  private isFull = false;
  private latest: Screenshot;

  private constructor(
    private readonly file: FileHandle,
    private readonly limits: RecordingLimits,
    private cdp: CDPSession,
    private readonly log: TabLog,
    first: Screenshot,
  ) {
    this.latest = first;
  }

  /**
   * Creates a recording in a new file of the folder.
   *
   * @param name of the episode; together with the time it forms the file name
   */
  static async begin(
    { folder, name, title }: { folder: string; name: string; title: string },
    limits: RecordingLimits,
    cdp: CDPSession,
    first: Screenshot,
    log: TabLog,
  ): Promise<Recording> {
    await mkdir(folder, { recursive: true });
    await makeRoom(folder, limits);
    const at = new Date().toISOString();
    const path = join(
      folder,
      `${at.replaceAll(/[-:.]/g, '')}-${name.replaceAll(/[^\w.-]+/g, '_').slice(0, 120)}.html`,
    );
    const recording = new Recording(await open(path, 'wx', 0o600), limits, cdp, log, first);
    recording.write(beginning(title, `episode ${name}, ${at}`));
    recording.shown(first);
    await recording.startPictures();
    return recording;
  }

  /** Continues with the pictures of another window. */
  async follow(cdp: CDPSession): Promise<void> {
    if (cdp === this.cdp) return;
    this.stopPictures();
    this.cdp = cdp;
    await this.startPictures();
  }

  /** Called before an action. */
  acts(action: Action): void {
    this.write(actionPart(this.now, action, this.latest));
  }

  /** Adds an observation of the policy. */
  shown(screenshot: Screenshot, outcome = 'ok'): void {
    this.latest = screenshot;
    if (outcome !== 'ok') this.write(note(this.now, outcome));
    this.write(picture(this.now, 'png', Buffer.from(screenshot.png).toString('base64')));
  }

  /** Closes the file; later writes are ignored. Never throws. */
  async end(how: string): Promise<void> {
    this.stopPictures();
    this.write(note(this.now, how));
    this.isFull = true;
    await this.writing;
    await this.file.close().catch(() => undefined);
  }

  private async startPictures(): Promise<void> {
    this.cdp.on('Page.screencastFrame', this.onFrame);
    await this.cdp.send('Page.startScreencast', { format: 'jpeg', quality: JPEG_QUALITY });
  }

  private stopPictures(): void {
    this.cdp.off('Page.screencastFrame', this.onFrame);
    this.cdp.send('Page.stopScreencast').catch(() => undefined);
  }

  private get now(): number {
    return performance.now() - this.begun;
  }

  /** The browser sends the next picture after this one is acknowledged. */
  private readonly onFrame = ({ data, sessionId }: Frame): void => {
    this.write(picture(this.now, 'jpeg', data));
    const next = () => {
      if (!this.isFull) this.cdp.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined);
    };
    setTimeout(next, FRAME_MS).unref();
  };

  private write(part: string): void {
    if (this.isFull) return;
    this.bytes += part.length;
    if (this.bytes > this.limits.maxBytes) {
      this.isFull = true;
      part = note(this.now, 'what follows is not recorded: the recording would be too large');
    }
    this.writing = this.writing
      .then(() => this.file.appendFile(part))
      .catch((error: unknown) => {
        if (!this.isFull) this.log('warn', `an episode is no longer recorded: ${messageOf(error)}`);
        this.isFull = true;
      });
  }
}

/** Deletes the oldest recordings until there is space for another. Ignores other files of the folder. */
async function makeRoom(folder: string, { maxBytes, totalBytes }: RecordingLimits): Promise<void> {
  const names = (await readdir(folder)).filter((name) => FILE.test(name)).toSorted();
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  let total = sizes.reduce((sum, size) => sum + size, maxBytes);
  for (const [index, name] of names.entries()) {
    if (total <= totalBytes) return;
    total -= sizes[index];
    await rm(join(folder, name), { force: true });
  }
}
