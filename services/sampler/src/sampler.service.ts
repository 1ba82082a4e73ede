import { Inject, Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import { EngineError } from '@ui-rl/engine';
import type { RunRecord } from '@ui-rl/contracts';
import { isHubAway, ModelError } from '@ui-rl/models';
import { isRecord } from '@ui-rl/plugin-kit';
import { causesOf, receiveRunFile, RunService, type ServedRun } from '@ui-rl/service';
import { RunSampler } from './run-sampler';
import { SamplerOptions } from './sampler.options';

/** The sampler component that uses these processes. */
const EXTERNAL = 'external';

/** Samples for runs whose learner only trains. */
@Injectable()
export class SamplerService extends RunService {
  constructor(
    @Inject(BusService) bus: BusService,
    @Inject(SamplerOptions) private readonly own: SamplerOptions,
  ) {
    super(bus, { runId: own.runId });
  }

  protected async prepare({ record }: RunSnapshot, signal: AbortSignal): Promise<ServedRun | null> {
    const { bus, own } = this;
    // Checked first: samplers must not report faults of runs that do not use them.
    if (!wantsSamplers(record)) return null;
    const { components, hub, models, cacheDir } = own;
    const run = await receiveRunFile(record, ['engine'], { bus, components, cacheDir });
    const { runId } = record;
    return RunSampler.open({ bus, runId, run, components, hub, models, cacheDir }, signal);
  }

  /** A model that is missing, invalid, or does not support the run's options. */
  protected override isMisconfiguration(error: unknown): boolean {
    if (super.isMisconfiguration(error)) return true;
    return [...causesOf(error)].some(
      (cause) =>
        (cause instanceof ModelError && !isHubAway(cause)) ||
        (cause instanceof EngineError && cause.category !== 'worker'),
    );
  }

  protected override passes(error: unknown): boolean {
    return super.passes(error) || [...causesOf(error)].some(isHubAway);
  }
}

function wantsSamplers({ config: { sampler } }: RunRecord): boolean {
  return (isRecord(sampler) ? sampler.name : sampler) === EXTERNAL;
}
