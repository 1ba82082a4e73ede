import { join } from 'node:path';
import { BusService } from '@ui-rl/bus';
import type { RunEvent } from '@ui-rl/contracts';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { newRunId, type CliSettings, type RunFile } from '@ui-rl/settings';
import { Fleet } from '../local/fleet';
import { quickstartReport, type QuickstartReport } from '../report/quickstart-report';
import { RunObserver } from '../report/run-observer';
import { announceRun, runEnd } from './announce';

export interface LocalRunOptions {
  settings: CliSettings;
  run: RunFile;
  /** The components that the run file was read with. */
  registry: ComponentRegistry;
  /** Holds the broker's store and the services' logs. */
  workDir: string;
  /** A service that ended, was started again, or could not be started. */
  onWarning: (message: string) => void;
  onEvent: (event: RunEvent) => void;
}

/** One run with a private broker and services of its own on this machine. */
export class LocalRun {
  readonly observer = new RunObserver();
  readonly runId: string;
  private fleet: Fleet | undefined;
  private bus: BusService | undefined;
  private ended: Promise<void> | undefined;
  private started = 0;

  constructor(private readonly options: LocalRunOptions) {
    this.runId = newRunId(options.run.logging.run_name);
  }

  /** Starts broker and services and announces the run; resolves to the address of the monitor. */
  async start(): Promise<string> {
    this.started = Date.now();
    const { settings, run, registry, workDir, onWarning, onEvent } = this.options;
    const { runsDir } = settings;
    this.fleet = await Fleet.start({
      natsServer: settings.natsServer,
      workDir,
      env: settings.environmentWith({
        UIRL_RUN: this.runId,
        UIRL_RUNS_DIR: runsDir,
        UIRL_PLUGINS: [...new Set([...settings.plugins, ...run.plugins])].join(','),
        UIRL_PGLITE_DIR: join(runsDir, this.runId, 'monitor-db'),
      }),
      onWarning,
    });
    this.bus = await BusService.connect({ service: 'cli', servers: [this.fleet.natsUrl] });
    this.ended = runEnd(this.bus, this.runId, this.observer, onEvent);
    await announceRun(this.bus, this.runId, run, registry);
    return this.fleet.monitorUrl;
  }

  /** Resolves to what became of the started run when it has ended; rejects where it failed. */
  async end(): Promise<QuickstartReport> {
    await this.ended;
    if (this.observer.failure !== undefined) throw new Error(`the run failed: ${this.observer.failure}`);
    const { settings, run } = this.options;
    return quickstartReport(this.observer, {
      seed: run.training.seed,
      wallSeconds: (Date.now() - this.started) / 1000,
      setupSeconds: settings.setupSeconds,
      peakRss: this.fleet!.peakRss(),
    });
  }

  /** Ends services and broker. */
  async stop(): Promise<void> {
    await this.bus?.close();
    await this.fleet?.stop();
  }
}
