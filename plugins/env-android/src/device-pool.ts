import { DeviceError, RETRIES, type Log } from '@ui-rl/plugin-kit';
import type { AdbServer } from './adb-server';
import { Device } from './device';
import { isEmulator, isInNetwork, type Allowed } from './machine';

interface Member {
  device: Device;
  busy: boolean;
  /** Consecutive failures. */
  failures: number;
  /** Time until which the device is not used; `performance.now()`. */
  asideUntil: number;
}

interface Waiting {
  give: (device: Device) => void;
}

/** Maximum age of the device list when looking for a free device. */
const LIST_MS = 2_000;

/** The pools of all runs of this process, so that no device is assigned twice. */
const POOLS = new Set<DevicePool>();

/**
 * The devices of a run: one episode per device, requests in order of arrival. A device that fails is set aside for
 * increasing times and then tried again; devices that appear are added.
 */
export class DevicePool {
  private readonly members = new Map<string, Member>();
  private readonly queue: Waiting[] = [];
  /** Devices that are listed and allowed, but in a state such as `unauthorized`. */
  private readonly others = new Map<string, string>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private listedAt = -Infinity;
  private closed = false;

  constructor(
    private readonly adb: AdbServer,
    private readonly allowed: Allowed,
    private readonly log: Log,
  ) {
    POOLS.add(this);
  }

  /** Devices that are connected and not set aside. */
  get usable(): string[] {
    return [...this.members.values()].filter(isUsable).map(({ device }) => device.serial);
  }

  /** Listed devices that cannot be used, each with its state: `unauthorized`, `offline`. */
  get unusable(): ReadonlyMap<string, string> {
    return this.others;
  }

  /** A device for one episode. Throws `DeviceError` `capacity` if none becomes free in time. */
  async acquire(signal: AbortSignal): Promise<Device> {
    const given = new Promise<Device>((give, reject) => {
      const waiting: Waiting = { give };
      this.queue.push(waiting);
      const leave = () => {
        const at = this.queue.indexOf(waiting);
        if (at < 0) return;
        this.queue.splice(at, 1);
        reject(new DeviceError('capacity', this.whyNone()));
      };
      if (signal.aborted) leave();
      signal.addEventListener('abort', leave, { once: true });
      waiting.give = (device) => {
        signal.removeEventListener('abort', leave);
        give(device);
      };
    });
    this.handOut();
    if (this.queue.length > 0) this.lookForMore(signal);
    return given;
  }

  /** Returns a device that is ready for another episode. */
  release({ serial }: Device): void {
    const member = this.members.get(serial);
    if (member === undefined) return;
    member.busy = false;
    member.failures = 0;
    for (const pool of POOLS) pool.handOut();
  }

  /** Returns a device that failed. */
  setAside({ serial }: Device, reason: string): void {
    const member = this.members.get(serial);
    if (member === undefined) return;
    const { firstMs, maxMs } = RETRIES.androidDevice;
    const pauseMs = Math.min(firstMs * 2 ** member.failures, maxMs);
    member.busy = false;
    member.failures++;
    member.asideUntil = performance.now() + pauseMs;
    this.log('warn', `device ${serial} is set aside for ${pauseMs} ms: ${reason}`);
    this.later(pauseMs, () => this.handOut());
    for (const pool of POOLS) pool.handOut();
  }

  /** Refreshes the list of devices. Throws `DeviceError` if the adb server does not answer. */
  async list(signal: AbortSignal): Promise<void> {
    this.listedAt = performance.now();
    await this.connectNamed(signal);
    const listed = await this.adb.devices(signal);
    this.others.clear();
    for (const { serial, state } of listed.filter((device) => this.isAllowed(device.serial))) {
      if (this.members.has(serial)) continue;
      if (state === 'device') this.admit(serial);
      else this.others.set(serial, state);
    }
    this.handOut();
  }

  close(): void {
    this.closed = true;
    POOLS.delete(this);
    this.timers.forEach(clearTimeout);
  }

  private admit(serial: string): void {
    const device = new Device(serial, this.adb);
    this.members.set(serial, { device, busy: false, failures: 0, asideUntil: 0 });
    this.log('info', `device ${serial} takes part`);
  }

  private isAllowed(serial: string): boolean {
    const { serials } = this.allowed;
    return serials.length === 0 ? isEmulator(serial) : serials.includes(serial);
  }

  /** A network device stays disconnected after a lost connection until it is connected again. */
  private async connectNamed(signal: AbortSignal): Promise<void> {
    for (const serial of this.allowed.serials.filter(isInNetwork)) {
      try {
        await this.adb.connect(serial, signal);
      } catch (error) {
        if (!(error instanceof DeviceError)) throw error;
        this.log('warn', error.message);
      }
    }
  }

  /** Refreshes the list periodically while callers wait. */
  private lookForMore(signal: AbortSignal): void {
    if (this.closed || signal.aborted || this.queue.length === 0) return;
    const again = () => this.later(LIST_MS, () => this.lookForMore(signal));
    if (performance.now() - this.listedAt < LIST_MS) return again();
    void this.list(signal).then(again, (error: unknown) => {
      this.log('warn', error instanceof Error ? error.message : String(error));
      again();
    });
  }

  private handOut(): void {
    for (let next = this.queue.at(0); next !== undefined; next = this.queue.at(0)) {
      const member = [...this.members.values()].find((each) => isUsable(each) && !this.isPlayed(each));
      if (member === undefined) return;
      member.busy = true;
      // Moves it to the end, since devices take turns.
      this.members.delete(member.device.serial);
      this.members.set(member.device.serial, member);
      this.queue.shift();
      next.give(member.device);
    }
  }

  /** Whether this or another run uses the device. */
  private isPlayed({ device: { serial } }: Member): boolean {
    const { host, port } = this.adb.address;
    return [...POOLS, this].some(
      ({ adb: { address }, members }) =>
        address.host === host && address.port === port && members.get(serial)?.busy === true,
    );
  }

  private later(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      work();
    }, ms);
    timer.unref();
    this.timers.add(timer);
  }

  private whyNone(): string {
    const all = [...this.members.values()];
    const aside = all.filter((member) => !isUsable(member)).length;
    return all.length === 0
      ? 'the adb server lists no device that this run may use'
      : `${all.length} devices, of which ${aside} are set aside and the others in use`;
  }
}

function isUsable({ asideUntil }: Member): boolean {
  return performance.now() >= asideUntil;
}
