import { failure, type BusService, type Lease, LeaseLost, type Responder } from '@ui-rl/bus';
import {
  type BaseModel,
  PolicyImageRequest,
  type PolicyImageReply,
  type Reply,
  SampleReply,
  SamplerReport,
  type SamplerOrders,
  subjects,
} from '@ui-rl/contracts';
import type { SampleRequest, SampleResult, SamplerProcesses } from '@ui-rl/plugin-kit';
import { DEADLINES } from '@ui-rl/retry';
import { readResult, writeRequest } from '@ui-rl/sampling';
import type { RunWarnings } from '../warnings';

export interface BusProcessesParts {
  bus: BusService;
  runId: string;
  /** Lease of the run: adapters are stored under its epoch. */
  lease: Lease;
  /** The model that samplers load. */
  base: BaseModel;
  /** Device of the engine. */
  device: string;
  /** A screenshot's PNG by hash; null if it is no longer available. */
  image(sha256: string): Promise<Uint8Array | null>;
  warnings: RunWarnings;
}

/** Processes of the `sampler` service, over the broker; inactive until a sampler answers their reports. */
export class BusProcesses implements SamplerProcesses {
  private readonly ended = new AbortController();
  readonly over: AbortSignal;
  private readonly responders: Responder[] = [];
  private warned = 0;

  constructor(private readonly parts: BusProcessesParts) {
    const { bus, lease } = parts;
    this.over = AbortSignal.any([this.ended.signal, bus.closing, lease.lost]);
  }

  warn(message: string): void {
    this.warned += 1;
    const { warnings, lease } = this.parts;
    const id = `learner.samplers.${lease.epoch}.${this.warned}`;
    // The broker is unavailable; the log contains the warning.
    void warnings.send('samplers', message, id).catch(() => undefined);
  }

  answer(
    report: (report: SamplerReport) => Promise<Pick<SamplerOrders, 'wanted' | 'probes' | 'refused'>>,
  ): void {
    const { bus, runId, lease, base, device } = this.parts;
    void this.untilOver();
    // Leftovers of earlier learners do not interfere.
    void bus.adapters.sweep(runId, lease.epoch).catch(() => undefined);
    const orders = async (told: SamplerReport): Promise<SamplerOrders> => ({
      ...(await report(told)),
      ...{ epoch: lease.epoch, model: base, device },
    });
    const png = async ({ sha256 }: PolicyImageRequest): Promise<PolicyImageReply> => ({
      png: await this.parts.image(sha256),
    });
    this.responders.push(
      bus.respond<SamplerReport>({
        subject: subjects.policyWeights(runId),
        schema: SamplerReport,
        handle: (told) => this.whileServed(() => orders(told)),
      }),
      bus.respond<PolicyImageRequest>({
        subject: subjects.policyImage(runId),
        schema: PolicyImageRequest,
        handle: (asked) => this.whileServed(() => png(asked)),
      }),
    );
  }

  async sample(
    process: string,
    id: string,
    request: SampleRequest,
    timeoutMs: number,
  ): Promise<Reply<SampleResult>> {
    const subject = subjects.samplerSample(process);
    const reply = await this.parts.bus.request(subject, writeRequest(id, request), timeoutMs, SampleReply);
    if (!reply.ok) return reply;
    try {
      return { ok: true, value: readResult(reply.value) };
    } catch (error) {
      return failure('bad_reply', `the reply from ${subject} is malformed: ${(error as Error).message}`);
    }
  }

  cancel(process: string, id: string): void {
    void this.parts.bus.request(subjects.samplerCancel(process), { id }, DEADLINES.samplerOrders.ms);
  }

  move(process: string, weights: { from: string; to: string }): Promise<Reply<unknown>> {
    return this.parts.bus.request(subjects.samplerMove(process), weights, DEADLINES.samplerWeights.ms);
  }

  async store(digest: string, dir: string): Promise<void> {
    const { bus, runId, lease } = this.parts;
    await bus.adapters.upload({ runId, epoch: lease.epoch, digest }, dir);
  }

  async remove(digest: string): Promise<void> {
    const { bus, runId, lease } = this.parts;
    if (bus.closing.aborted) return;
    await bus.adapters.delete({ runId, epoch: lease.epoch, digest });
  }

  async stop(): Promise<void> {
    this.ended.abort();
    await Promise.all(this.responders.map((responder) => responder.stop()));
  }

  private async untilOver(): Promise<void> {
    const { bus, runId } = this.parts;
    await bus.runs.untilOver(runId, this.over).catch(() => undefined);
    this.ended.abort();
  }

  /** After another learner has taken over, samplers listen to that one. */
  private async whileServed<T>(answer: () => Promise<T>): Promise<T | ReturnType<typeof failure>> {
    try {
      await this.parts.lease.ensure();
    } catch (error) {
      if (error instanceof LeaseLost) return failure('deposed', error.message);
      throw error;
    }
    return answer();
  }
}
