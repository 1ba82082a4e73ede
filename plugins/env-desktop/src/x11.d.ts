/** Types for the parts of the package `x11` that are used here; it has none. */
declare module 'x11' {
  import type { EventEmitter } from 'node:events';
  import type { Socket } from 'node:net';

  interface Screen {
    root: number;
  }

  interface Display {
    client: Client;
    screen: Screen[];
    min_keycode: number;
    max_keycode: number;
  }

  interface XTest {
    FakeInput(type: number, detail: number, time: number, window: number, x: number, y: number): void;
  }

  interface Damage {
    Create(damage: number, drawable: number, level: number): void;
    Subtract(damage: number, repair: number, parts: number): void;
    ReportLevel: { NonEmpty: number };
  }

  interface Event {
    name: string;
    message_type?: number;
    data?: number[];
  }

  /** Requests are methods whose last argument is a callback for the reply. */
  interface Client extends EventEmitter {
    stream: Socket;
    atoms: Record<string, number>;
    AllocID(): number;
    require(extension: string, done: (error: Error | null, extension: unknown) => void): void;
    ChangeWindowAttributes(window: number, values: Record<string, number>): void;
    ChangeKeyboardControl(values: { autoRepeatMode: 0 | 1 }): void;
    ChangeKeyboardMapping(first: number, perKey: number, keysyms: readonly number[]): void;
    SendClientMessage(
      destination: number,
      window: number,
      type: number,
      format: number,
      data: readonly number[],
      mask: number,
    ): void;
    terminate(): void;
  }

  interface ClientOptions {
    display: string;
    stream: Socket;
    auth: { name: string; data: string };
    bufferRequests: boolean;
  }

  export function createClient(
    options: ClientOptions,
    done: (error: Error | null, display: Display) => void,
  ): Client;
}
