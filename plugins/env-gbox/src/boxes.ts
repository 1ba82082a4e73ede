import { setTimeout as sleep } from 'node:timers/promises';
import { DeviceError, isRecord, type Log } from '@ui-rl/plugin-kit';
import { Box } from './box';
import type { GboxApi } from './gbox-api';
import { forgetLabels, hostLabels, isOwn, isStale, newLabels, type Labels } from './labels';
import { durationMs, type GboxOptions } from './options';

interface Listed {
  id: string;
  status: string;
  labels: Labels;
}

const PAGE_SIZE = 100;
const MAX_PAGES = 50;
const POLL_MS = 500;
/** Time limit for terminating a box, including retries. */
const END_MS = 20_000;
/** Minimum fraction of its lifetime that a kept box must have left; otherwise the next episode gets a new one. */
const LEFT = 1 / 4;

/** The boxes of one environment: created, reused and terminated, including those of processes that died. */
export class Boxes {
  private readonly labels = newLabels();
  private readonly live = new Map<string, Box>();
  private readonly idle: Box[] = [];
  private readonly sweeps = new Set<Promise<void>>();
  private creating = 0;

  constructor(
    private readonly api: GboxApi,
    private readonly options: GboxOptions,
    private readonly log: Log,
  ) {}

  /** A running box; reuses a kept one if possible. */
  async take(signal: AbortSignal): Promise<Box> {
    for (let kept = this.idle.pop(); kept !== undefined; kept = this.idle.pop()) {
      if (await this.isGood(kept, signal)) return kept;
      await this.end(kept);
    }
    return this.create(signal);
  }

  /** Returns a box after its episode. */
  async giveBack(box: Box, healthy: boolean): Promise<void> {
    const { after_episode: after } = this.options;
    if (!healthy || after === 'terminate' || !this.hasTimeLeft(box)) return this.end(box);
    if (after === 'stop') {
      try {
        await box.stop(AbortSignal.timeout(END_MS));
      } catch (error) {
        this.log('warn', `${box.id}: ${messageOf(error)}`);
        return this.end(box);
      }
    }
    this.idle.push(box);
  }

  /** Terminates a box. Never throws: a box that cannot be terminated expires by itself. */
  async end(box: Box): Promise<void> {
    this.live.delete(box.id);
    await this.terminate(box.id);
  }

  /** Terminates all boxes, including those whose creation was never answered. */
  async close(): Promise<void> {
    this.idle.length = 0;
    await Promise.all([...this.live.values()].map((box) => this.end(box)));
    await Promise.all(this.sweeps);
    await this.sweep().catch((error: unknown) => this.log('warn', messageOf(error)));
    forgetLabels(this.labels);
  }

  /**
   * Terminates our unused boxes: those of dead processes on this host, and those that this environment did not learn
   * about. Throws `DeviceError` if GBox does not list them.
   */
  async sweep(): Promise<void> {
    const listed = await this.list(AbortSignal.timeout(END_MS));
    const lost = listed.filter(
      ({ id, labels }) =>
        isStale(labels) || (isOwn(labels, this.labels) && this.creating === 0 && !this.live.has(id)),
    );
    for (const { id } of lost) this.log('warn', `box ${id} was left behind, and is ended`);
    await Promise.all(lost.map(({ id }) => this.terminate(id)));
  }

  private async create(signal: AbortSignal): Promise<Box> {
    const { box_type: type, device_type: deviceType, expires_in: expiresIn } = this.options;
    const config = { expiresIn, labels: this.labels, ...(type === 'android' ? { deviceType } : {}) };
    this.creating++;
    try {
      const made = await this.api.once(
        { method: 'POST', path: `boxes/${type}`, body: { wait: true, config } },
        signal,
      );
      const box = new Box(this.api, made, Date.now() + durationMs(expiresIn));
      this.live.set(box.id, box);
      await this.untilRunning(box, signal);
      return box;
    } catch (error) {
      this.later(error);
      throw error;
    } finally {
      this.creating--;
    }
  }

  /** A box whose creation was not answered may exist nevertheless. */
  private later(error: unknown): void {
    if (!(error instanceof DeviceError) || error.code === 'capacity') return;
    const sweep = this.swept().finally(() => this.sweeps.delete(sweep));
    this.sweeps.add(sweep);
  }

  private async swept(): Promise<void> {
    // By then, the failed creation is no longer counted.
    await new Promise(setImmediate);
    await this.sweep().catch((failed: unknown) => this.log('warn', messageOf(failed)));
  }

  private async untilRunning(box: Box, signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const status = await box.status(signal);
        if (status === 'running') return;
        if (status !== 'pending') throw new DeviceError('crashed', `box ${box.id} is ${status}`);
        await sleep(POLL_MS);
        if (signal.aborted) throw new DeviceError('deadline', `box ${box.id} was not running in time`);
      }
    } catch (error) {
      await this.end(box);
      throw error;
    }
  }

  private async isGood(box: Box, signal: AbortSignal): Promise<boolean> {
    try {
      if (this.options.after_episode === 'stop') await box.start(signal);
      return (await box.status(signal)) === 'running' && this.hasTimeLeft(box);
    } catch (error) {
      if (!(error instanceof DeviceError) || signal.aborted) {
        // It is no longer in the idle list, so nothing else would terminate it.
        await this.end(box);
        throw error;
      }
      this.log('warn', error.message);
      return false;
    }
  }

  private hasTimeLeft({ expiresAt }: Box): boolean {
    return expiresAt - Date.now() > LEFT * durationMs(this.options.expires_in);
  }

  private async terminate(id: string): Promise<void> {
    const path = `boxes/${encodeURIComponent(id)}/terminate`;
    try {
      await this.api.repeat({ method: 'POST', path, body: { wait: false } }, AbortSignal.timeout(END_MS));
    } catch (error) {
      // It is already gone, or ends when its lifetime is over.
      if (!/: 404 /.test(messageOf(error)))
        this.log('warn', `box ${id} could not be ended: ${messageOf(error)}`);
    }
  }

  /**
   * Boxes that may still be billed. GBox's documentation mentions `stopped`, but not everywhere as a status to query.
   */
  private async list(signal: AbortSignal): Promise<Listed[]> {
    try {
      return await this.listed('pending,running,stopped', signal);
    } catch (error) {
      if (!/: 4(00|22) /.test(messageOf(error))) throw error;
      return this.listed('pending,running', signal);
    }
  }

  private async listed(statuses: string, signal: AbortSignal): Promise<Listed[]> {
    const all: Listed[] = [];
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const query = new URLSearchParams({
        page: String(page),
        pageSize: String(PAGE_SIZE),
        status: statuses,
      });
      for (const [name, value] of Object.entries(hostLabels())) query.set(`labels[${name}]`, value);
      const { data, total } = await this.api.repeat(
        { method: 'GET', path: `boxes?${query.toString()}` },
        signal,
      );
      const boxes: unknown[] = Array.isArray(data) ? data : [];
      all.push(...boxes.flatMap(readListed));
      if (boxes.length < PAGE_SIZE || page * PAGE_SIZE >= Number(total)) break;
    }
    return all;
  }
}

function readListed(box: unknown): Listed[] {
  if (!isRecord(box) || typeof box.id !== 'string') return [];
  const labels = isRecord(box.config) && isRecord(box.config.labels) ? box.config.labels : {};
  return [{ id: box.id, status: String(box.status), labels: labels as Record<string, string> }];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
