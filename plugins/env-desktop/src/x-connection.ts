import { createConnection } from 'node:net';
import type { Client, Damage, Display, Event, XTest } from 'x11';
import type { ScreenSize } from './desktop-spec';
import { DesktopError } from './errors';

export const FAKE = { keyPress: 2, keyRelease: 3, buttonPress: 4, buttonRelease: 5, motion: 6 } as const;

const Z_PIXMAP = 2;
const ALL_PLANES = 0xff_ff_ff_ff;
const SUBSTRUCTURE_NOTIFY = 0x0008_0000;
/** Maximum length of a property, in units of four bytes. */
const LONGEST_PROPERTY = 1_024;

interface Property {
  data: Buffer;
  format: number;
}

/** A request to an application that it answers when it handles events. */
export interface Ping {
  answered: Promise<void>;
}

/**
 * A connection to the X server of a desktop: its screen, its input devices, and its windows as listed by the window
 * manager.
 */
export class XConnection {
  /** When something was last drawn, by `performance.now()`. */
  drawnAt = 0;
  /** Number of draw events. */
  drawings = 0;
  private readonly atoms = new Map<string, number>();
  private readonly pending = new Set<(error: Error) => void>();
  private readonly pongs = new Map<number, () => void>();
  private readonly root: number;
  private readonly damageId: number;
  private pings = 0;
  private isOver = false;

  private constructor(
    private readonly client: Client,
    readonly display: Display,
    private readonly xtest: XTest,
    private readonly damage: Damage,
  ) {
    this.root = display.screen[0].root;
    this.damageId = client.AllocID();
    client.on('event', (event: Event) => this.hear(event));
    client.stream.on('close', () => this.over());
    // Applications send replies to pings to the root window.
    client.ChangeWindowAttributes(this.root, { eventMask: SUBSTRUCTURE_NOTIFY });
    damage.Create(this.damageId, this.root, damage.ReportLevel.NonEmpty);
  }

  /** Rejects if the server refuses the connection. */
  static async open(number: number, cookie: Buffer): Promise<XConnection> {
    const display = await connect(number, cookie);
    const { client } = display;
    // The library shares atoms between connections, but each server assigns its own numbers.
    client.atoms = {};
    const [xtest, damage] = await Promise.all([
      extension<XTest>(client, 'xtest'),
      extension<Damage>(client, 'damage'),
    ]);
    return new XConnection(client, display, xtest, damage);
  }

  close(): void {
    if (!this.isOver) this.client.terminate();
    this.client.stream.destroy();
    this.over();
  }

  /** Waits until the server has processed all previous requests. */
  async sync(): Promise<void> {
    await this.ask('GetInputFocus');
  }

  /** Sends an input event as from a device. */
  fake(type: (typeof FAKE)[keyof typeof FAKE], detail: number, x = 0, y = 0): void {
    if (!this.isOver) this.xtest.FakeInput(type, detail, 0, this.root, x, y);
  }

  /** The pixels of the screen: blue, green, red, padding; one byte each. */
  async pixels({ width, height }: ScreenSize): Promise<Buffer> {
    const { data } = await this.ask<{ data: Buffer }>(
      'GetImage',
      Z_PIXMAP,
      this.root,
      0,
      0,
      width,
      height,
      ALL_PLANES,
    );
    return data;
  }

  /** Mask of the pressed modifiers and buttons. */
  async pointerMask(): Promise<number> {
    return (await this.ask<{ keyMask: number }>('QueryPointer', this.root)).keyMask;
  }

  /** Keysyms of each key from `display.min_keycode` on; unshifted first, then shifted. */
  async keyboard(): Promise<number[][]> {
    const { min_keycode: first, max_keycode: last } = this.display;
    return this.ask('GetKeyboardMapping', first, last - first + 1);
  }

  /** Whether keys that stay down repeat. */
  repeatKeys(isRepeating: boolean): void {
    this.client.ChangeKeyboardControl({ autoRepeatMode: isRepeating ? 1 : 0 });
  }

  bindKey(keycode: number, keysym: number): void {
    this.client.ChangeKeyboardMapping(keycode, 2, [keysym, keysym]);
  }

  /** Whether a window manager is running. */
  async hasManager(): Promise<boolean> {
    return (await this.numbers(this.root, '_NET_SUPPORTING_WM_CHECK')).length > 0;
  }

  /** Application windows, oldest first. */
  async windows(): Promise<number[]> {
    return this.numbers(this.root, '_NET_CLIENT_LIST');
  }

  async activeWindow(): Promise<number | null> {
    const [active = 0] = await this.numbers(this.root, '_NET_ACTIVE_WINDOW');
    return active === 0 ? null : active;
  }

  async title(window: number): Promise<string> {
    const own = await this.property(window, '_NET_WM_NAME');
    const title = own.length > 0 ? own : await this.property(window, 'WM_NAME');
    return title.toString('utf8');
  }

  async isShown(window: number): Promise<boolean> {
    try {
      const { mapState } = await this.ask<{ mapState: number }>('GetWindowAttributes', window);
      return mapState === 2;
    } catch {
      return false;
    }
  }

  /**
   * Pings an application: it answers after it has handled the preceding events. Null if the window does not support
   * pings.
   */
  async ping(window: number): Promise<Ping | null> {
    const [protocols, ping] = await Promise.all([this.atom('WM_PROTOCOLS'), this.atom('_NET_WM_PING')]);
    if (!(await this.numbers(window, 'WM_PROTOCOLS')).includes(ping)) return null;
    const id = ++this.pings;
    const answered = new Promise<void>((resolve) => this.pongs.set(id, resolve));
    this.client.SendClientMessage(window, window, protocols, 32, [ping, id, window, 0, 0], 0);
    return { answered };
  }

  private async numbers(window: number, property: string): Promise<number[]> {
    const data = await this.property(window, property);
    return Array.from({ length: Math.floor(data.length / 4) }, (_, i) => data.readUInt32LE(4 * i));
  }

  /** Empty if the property or the window does not exist. */
  private async property(window: number, name: string): Promise<Buffer> {
    const atom = await this.atom(name);
    try {
      const { data } = await this.ask<Property>('GetProperty', 0, window, atom, 0, 0, LONGEST_PROPERTY);
      return data;
    } catch (error) {
      if (error instanceof DesktopError) throw error;
      return Buffer.alloc(0);
    }
  }

  private async atom(name: string): Promise<number> {
    const known = this.atoms.get(name);
    if (known !== undefined) return known;
    const atom = await this.ask<number>('InternAtom', false, name);
    this.atoms.set(name, atom);
    return atom;
  }

  private async ask<T>(request: string, ...args: unknown[]): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.isOver) return reject(gone());
      const fail = (error: Error) => {
        this.pending.delete(fail);
        reject(error);
      };
      this.pending.add(fail);
      const requests = this.client as unknown as Record<string, (...args: unknown[]) => void>;
      requests[request](...args, (error: Error | null, reply: T) => {
        this.pending.delete(fail);
        if (error) reject(error);
        else resolve(reply);
        return true;
      });
    });
  }

  private hear(event: Event): void {
    if (event.name === 'DamageNotify') {
      this.drawnAt = performance.now();
      this.drawings++;
      this.damage.Subtract(this.damageId, 0, 0);
    } else if (event.name === 'ClientMessage' && event.message_type === this.atoms.get('WM_PROTOCOLS')) {
      this.pongs.get(event.data?.[1] ?? 0)?.();
      this.pongs.delete(event.data?.[1] ?? 0);
    }
  }

  private over(): void {
    this.isOver = true;
    for (const fail of this.pending) fail(gone());
  }
}

function gone(): DesktopError {
  return new DesktopError('crashed', 'the X server is gone');
}

async function connect(number: number, cookie: Buffer): Promise<Display> {
  // Imported here so that processes that only list plugins do not load X11.
  const { createClient } = await import('x11');
  return new Promise((resolve, reject) => {
    const client = createClient(
      {
        display: `:${number}`,
        stream: createConnection(`/tmp/.X11-unix/X${number}`),
        auth: { name: 'MIT-MAGIC-COOKIE-1', data: cookie.toString('latin1') },
        bufferRequests: true,
      },
      (error, display) => (error ? reject(error) : resolve(display)),
    );
    // Windows may close during a request; the stream reports a lost connection.
    client.on('error', () => undefined);
  });
}

async function extension<T>(client: Client, name: string): Promise<T> {
  return new Promise((resolve, reject) =>
    client.require(name, (error, found) => (error ? reject(error) : resolve(found as T))),
  );
}
