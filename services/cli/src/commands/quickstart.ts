import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BusService } from '@ui-rl/bus';
import { newRunId, readCliSettings, readRunFile, type CliSettings, type RunFile } from '@ui-rl/settings';
import { Command } from 'commander';
import { aborted, withCleanup } from '../local/cleanup';
import { Fleet } from '../local/fleet';
import { projectRoot } from '../local/project';
import { followRun } from '../report/follow-run';
import { evaluationEpisodes, phaseGoal } from '../report/goals';
import { percent } from '../report/intervals';
import { clock, ProgressDisplay, progressLine } from '../report/progress';
import { beforeAfterTable, quickstartReport } from '../report/quickstart-report';
import { RunObserver } from '../report/run-observer';

export interface QuickstartOptions {
  minutes: number;
  keepOpen?: boolean;
  json?: string;
  config: string;
}

/** Of the minutes the user gives, what baseline and final evaluation take. */
const EVALUATION_MINUTES = 2;

export function quickstartCommand(): Command {
  return new Command('quickstart')
    .description('train the small default model on the demo phone, and show success before and after')
    .option('--minutes <n>', 'wall time of baseline, training and final evaluation', Number, 14)
    .option('--keep-open', 'leave the monitor up until Ctrl-C')
    .option('--json <file>', 'write the report as JSON')
    .option('--config <file>', 'run file', join(projectRoot, 'deploy/config/quickstart.yaml'))
    .argument('[options...]', 'any option of the run file as a flag, such as --seed 1')
    .allowUnknownOption()
    .action(async (flags: string[], options: QuickstartOptions) => {
      process.exitCode = await quickstart(options, flags);
    });
}

async function quickstart(options: QuickstartOptions, flags: string[]): Promise<number> {
  if (!(options.minutes >= EVALUATION_MINUTES + 0.5)) {
    throw new Error(
      `--minutes must be at least ${EVALUATION_MINUTES + 0.5}: evaluation alone takes about ${EVALUATION_MINUTES}`,
    );
  }
  const settings = readCliSettings();
  const run = readRunFile({
    file: options.config,
    flags: [`--training.max_minutes=${options.minutes - EVALUATION_MINUTES}`, ...flags],
    runsDir: settings.runsDir,
    workingDir: projectRoot,
  });
  const evaluation = await evaluationEpisodes(run);
  return withCleanup(async (signal, onEnd) => {
    const workDir = await mkdtemp(join(tmpdir(), 'ui-rl-'));
    onEnd(() => rm(workDir, { recursive: true, force: true }));
    const session = new QuickstartSession(settings, run, options, evaluation, workDir);
    onEnd(() => session.stop());
    return session.play(signal);
  });
}

class QuickstartSession {
  private readonly observer = new RunObserver();
  private readonly display = new ProgressDisplay(() => this.line(), process.stdout);
  private readonly runId: string;
  private fleet: Fleet | undefined;
  private bus: BusService | undefined;

  constructor(
    private readonly settings: CliSettings,
    private readonly run: RunFile,
    private readonly options: QuickstartOptions,
    private readonly evaluation: number,
    private readonly workDir: string,
  ) {
    this.runId = newRunId(run.logging.run_name);
  }

  async play(signal: AbortSignal): Promise<number> {
    const started = Date.now();
    await this.startFleet();
    const finished = this.follow();
    await this.bus!.runs.create({
      runId: this.runId,
      createdAt: new Date().toISOString(),
      config: this.run as unknown as Record<string, unknown>,
    });
    console.log(`run ${this.runId}\nmonitor ${this.fleet!.monitorUrl}\nlogs ${join(this.workDir, 'logs')}\n`);
    this.display.start();
    await Promise.race([finished, aborted(signal)]);
    this.display.stop();
    if (this.observer.failure !== undefined) throw new Error(`the run failed: ${this.observer.failure}`);
    await this.report((Date.now() - started) / 1000);
    if (this.options.keepOpen) {
      console.log('\nThe monitor stays up. Ctrl-C ends it.');
      await aborted(signal).catch(() => undefined);
    }
    return 0;
  }

  private async startFleet(): Promise<void> {
    this.fleet = await Fleet.start({
      natsServer: this.settings.natsServer,
      workDir: this.workDir,
      env: this.settings.environmentWith({
        UIRL_RUN: this.runId,
        UIRL_RUNS_DIR: this.run.logging.log_dir,
        UIRL_PGLITE_DIR: join(this.run.logging.log_dir, this.runId, 'monitor-db'),
      }),
      onTrouble: (message) => this.display.say(message),
    });
    this.bus = await BusService.connect({ service: 'cli', servers: [this.fleet.natsUrl] });
  }

  /** Resolves when the run has ended. */
  private follow(): Promise<void> {
    return new Promise((resolve, reject) => {
      followRun(this.bus!, this.runId, this.observer, (event) => {
        if (event.type === 'warning') this.display.say(`warning  ${event.service}: ${event.message}`);
        if (event.type === 'evaluation' && event.stage !== 'periodic') {
          this.display.say(
            `${event.stage} ${event.set}: ${percent(event.successRate)} of ${event.episodes} episodes`,
          );
        }
        if (event.type === 'phase' && ['finished', 'failed', 'stopped'].includes(event.phase)) resolve();
      }).catch(reject);
    });
  }

  private line(): string {
    return progressLine(this.observer, phaseGoal(this.run, this.evaluation, this.observer));
  }

  private async report(wallSeconds: number): Promise<void> {
    const { observer } = this;
    const report = quickstartReport(observer, {
      seed: this.run.training.seed,
      wallSeconds,
      setupSeconds: this.settings.setupSeconds,
      peakRss: this.fleet!.peakRss(),
    });
    console.log(beforeAfterTable(observer));
    console.log(
      `\n${observer.episodes} episodes, ${observer.envSteps} environment steps, ${observer.trainSteps} training steps in ${clock(wallSeconds)}`,
    );
    console.log(`invalid episodes ${(100 * observer.invalidShare).toFixed(2)} %`);
    console.log(`largest |KL| between sampler and trainer ${observer.maxKlSampleTrain.toExponential(1)}`);
    console.log(`checkpoint ${report.checkpoint ?? 'none'}`);
    if (this.options.json !== undefined) {
      await writeFile(this.options.json, `${JSON.stringify(report, null, 2)}\n`);
      console.log(`report ${this.options.json}`);
    }
  }

  async stop(): Promise<void> {
    this.display.stop();
    await this.bus?.close();
    await this.fleet?.stop();
    if (existsSync(this.workDir) && this.observer.failure !== undefined)
      console.log(`logs were in ${this.workDir}`);
  }
}
