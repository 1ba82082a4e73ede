import { FINAL_PHASES, type BusService } from '@ui-rl/bus';
import { PolicyImageReply, SamplerOrders, type SamplerReport, subjects } from '@ui-rl/contracts';
import { DEADLINES, everyFewSeconds, RETRIES, retry } from '@ui-rl/retry';

/** The run is over, and its learner does not answer. */
export class RunOver extends Error {
  override readonly name = 'RunOver';
}

/** A sampler's access to the learner of a run. */
export class LearnerLink {
  constructor(
    private readonly bus: BusService,
    private readonly runId: string,
  ) {}

  /**
   * Reports this sampler's identity and weights to the learner, and returns the weights to load; waits for a learner
   * that does not answer.
   *
   * @throws RunOver
   */
  async report(report: SamplerReport, signal: AbortSignal): Promise<SamplerOrders> {
    const { bus, runId } = this;
    const subject = subjects.policyWeights(runId);
    const attempt = async (): Promise<SamplerOrders> => {
      const reply = await bus.request(subject, report, DEADLINES.samplerOrders.ms, SamplerOrders);
      if (reply.ok) return reply.value;
      if (await this.isOver()) throw new RunOver(`run ${runId} is over`);
      throw new Error(reply.error.message);
    };
    const sayOften = everyFewSeconds((error) =>
      bus.logger.log(`run ${runId} has no learner that answers samplers yet: ${(error as Error).message}`),
    );
    return retry(RETRIES.samplerReport, attempt, {
      signal,
      isTransient: (error) => !(error instanceof RunOver) && !bus.closing.aborted,
      onFailure: sayOften,
    });
  }

  /** A screenshot's PNG by hash; null if it is no longer available. */
  async image(sha256: string): Promise<Uint8Array | null> {
    const { bus, runId } = this;
    const subject = subjects.policyImage(runId);
    const reply = await bus.request(subject, { sha256 }, DEADLINES.samplerOrders.ms, PolicyImageReply);
    if (reply.ok) return reply.value.png;
    bus.logger.warn(`the learner did not send screenshot ${sha256}: ${reply.error.message}`);
    return bus.blobs.of(runId).get(sha256);
  }

  private async isOver(): Promise<boolean> {
    const state = await this.bus.runs.state(this.runId);
    return state === null || FINAL_PHASES.includes(state.phase);
  }
}
