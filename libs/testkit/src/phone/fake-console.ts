import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** An emulator console for `adb emu` and telnet: a token first, then commands, each answered with OK or KO. */
export class FakeConsole {
  readonly commands: string[] = [];
  readonly snapshots = new Set<string>();

  private constructor(
    private readonly server: Server,
    private readonly token: string,
    private readonly loaded: (snapshot: string) => void,
  ) {}

  /** @param loaded effect of loading a snapshot on the emulator */
  static async listen(port: number, token: string, loaded: (snapshot: string) => void): Promise<FakeConsole> {
    const server = createServer();
    const emulator = new FakeConsole(server, token, loaded);
    server.on('connection', (socket) => emulator.accept(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return emulator;
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => this.server.close(resolve));
  }

  private accept(socket: Socket): void {
    let known = false;
    const say = (...lines: string[]) => socket.write(lines.map((line) => `${line}\r\n`).join(''));
    socket.on('error', () => socket.destroy());
    say(
      'Android Console: Authentication required',
      "Android Console: type 'auth <auth_token>' to authenticate",
      'Android Console: you can find your <auth_token> in',
      "'/home/someone/.emulator_console_auth_token'",
      'OK',
    );
    createInterface({ input: socket }).on('line', (line) => {
      if (!known) {
        known = line === `auth ${this.token}`;
        return known
          ? say("Android Console: type 'help' for a list of commands", 'OK')
          : say('KO: authentication token does not match');
      }
      this.commands.push(line);
      const snapshot = /^avd snapshot load (\S+)$/.exec(line)?.[1];
      if (snapshot === undefined) return say("KO: unknown command, try 'help'");
      if (!this.snapshots.has(snapshot))
        return say(`KO: Device 'cache' does not have the requested snapshot '${snapshot}'`);
      this.loaded(snapshot);
      return say('OK');
    });
  }
}
