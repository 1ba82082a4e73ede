import { OutsideError, outsideText, parseJson, type OutsideServer } from '@ui-rl/plugin-kit';
import { readObserved, recordOf, shown, type Observed, type RemoteEnvironment } from './remote';
import { Wire } from './wire';

/** Uses `/ws`: one socket is one environment. */
export class SocketEnvironment implements RemoteEnvironment {
  private constructor(private readonly wire: Wire) {}

  static async open(server: OutsideServer, signal: AbortSignal): Promise<SocketEnvironment> {
    return new SocketEnvironment(await Wire.open(server, '/ws', signal));
  }

  async reset(seed: number, options: Record<string, unknown>, signal: AbortSignal): Promise<Observed> {
    const data = await this.ask({ type: 'reset', data: { ...options, seed } }, 'observation', signal);
    return readObserved(data, this.wire.address);
  }

  async step(action: Record<string, unknown>, signal: AbortSignal): Promise<Observed | null> {
    try {
      const data = await this.ask({ type: 'step', data: action }, 'observation', signal);
      return readObserved(data, this.wire.address);
    } catch (error) {
      if (error instanceof Refused) return null;
      throw error;
    }
  }

  state(signal: AbortSignal): Promise<Record<string, unknown>> {
    return this.ask({ type: 'state' }, 'state', signal);
  }

  async close(): Promise<void> {
    this.wire.close({ type: 'close' });
  }

  private async ask(
    message: object,
    expected: string,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>> {
    const text = await this.wire.ask(message, signal);
    const answer = recordOf(parseJson(text, this.wire.address), this.wire.address);
    const data = recordOf(answer.data, this.wire.address);
    if (answer.type === 'error') throw this.errorOf(data);
    if (answer.type === expected) return data;
    throw new OutsideError(
      'crashed',
      `${this.wire.address} answered ${shown(answer)}, expected "${expected}"`,
    );
  }

  private errorOf({ code, message }: Record<string, unknown>): OutsideError {
    const said = `${this.wire.address} says ${String(code)}: ${outsideText(String(message))}`;
    if (code === 'VALIDATION_ERROR') return new Refused('crashed', said);
    return new OutsideError(code === 'CAPACITY_REACHED' ? 'capacity' : 'crashed', said);
  }
}

/** The server rejected a message but keeps the connection. */
class Refused extends OutsideError {}
