import type { BusService } from '@ui-rl/bus';
import { EvaluatorState, runKeys } from '@ui-rl/contracts';
import { EMPTY } from './state';

/** The open evaluations of a run in the `runs` bucket: the state that survives the process. */
export class EvaluationStore {
  private readonly key: string;

  constructor(
    private readonly bus: BusService,
    runId: string,
  ) {
    this.key = runKeys.evaluator(runId);
  }

  async read(): Promise<EvaluatorState> {
    return (await this.bus.runsBucket.get(this.key, EvaluatorState))?.value ?? EMPTY;
  }

  /** Durable when it resolves. Return null from `change` to leave the state unchanged. */
  async change(change: (state: EvaluatorState) => EvaluatorState | null): Promise<void> {
    const next = (current: EvaluatorState | null) => change(current ?? EMPTY);
    await this.bus.runsBucket.change(this.key, next, EvaluatorState);
  }

  /** Yields after each change, until the signal aborts. */
  async *changes(signal: AbortSignal): AsyncGenerator<void> {
    for await (const _ of this.bus.runsBucket.watch(this.key, signal)) yield;
  }
}
