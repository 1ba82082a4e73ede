import { isRecord, OutsideError, outsideText } from '@ui-rl/plugin-kit';

/** A server's reply to a reset or a step. */
export interface Observed {
  observation: Record<string, unknown>;
  reward: number;
  done: boolean;
}

/** One environment on a server. Failures are thrown as `OutsideError`. */
export interface RemoteEnvironment {
  /** @param options of the task, besides the seed */
  reset(seed: number, options: Record<string, unknown>, signal: AbortSignal): Promise<Observed>;
  /** Null if the server rejects the action without executing it. */
  step(action: Record<string, unknown>, signal: AbortSignal): Promise<Observed | null>;
  state(signal: AbortSignal): Promise<Record<string, unknown>>;
  close(signal: AbortSignal): Promise<void>;
}

/** @throws OutsideError if the reply is not an observation */
export function readObserved(value: unknown, from: string): Observed {
  if (isRecord(value) && isRecord(value.observation)) {
    const { observation, reward, done } = value;
    const paid = typeof reward === 'boolean' ? Number(reward) : (reward ?? 0);
    if (typeof paid === 'number' && Number.isFinite(paid))
      return { observation, reward: paid, done: done === true };
  }
  throw new OutsideError('crashed', `${from} answered ${shown(value)}, expected {observation, reward, done}`);
}

/** @throws OutsideError if the value is not an object */
export function recordOf(value: unknown, from: string): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new OutsideError('crashed', `${from} answered ${shown(value)}, expected an object`);
}

export function shown(value: unknown): string {
  return outsideText(JSON.stringify(value) ?? 'nothing', 200);
}
