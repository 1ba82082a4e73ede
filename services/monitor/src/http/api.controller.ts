import { Controller, Get, Inject, Param, Query, UseInterceptors } from '@nestjs/common';
import { metricInfo, type ConfigurationGroup, type MetricInfo } from '@ui-rl/contracts';
import { ComponentRegistry } from '@ui-rl/plugin-kit';
import {
  compareEvaluations,
  type Curves,
  type DifferingOption,
  type EpisodePage,
  type EvaluationComparison,
  type FailedCheck,
  type JudgedEpisode,
  findConfiguration,
  findEpisode,
  findPrompt,
  findRun,
  findStep,
  listEpisodes,
  listInProgress,
  listFailedChecks,
  type ListedRun,
  listMetrics,
  listRunIds,
  listRuns,
  readCurves,
  readHealth,
  readRunOptions,
  readTaskHeatMap,
  readTaskScores,
  type RecordedHealth,
  type RolloutInProgress,
  type RunDetail,
  type StepDetail,
  type TaskHeatMap,
  type TaskScoreView,
  listTrajectories,
  type TrajectoryPage,
  type TurnPrompt,
} from '@ui-rl/records';
import { describeRun, redactRunFile } from '@ui-rl/settings';
import { DataSource } from 'typeorm';
import { Deltas } from './deltas';
import { DifferencesQuery } from './differences-query';
import { differingOptions } from './differing-options';
import { EpisodeQuery } from './episode-query';
import { found } from './found';
import { judgedChecks } from './judged-checks';
import { ROLLOUT, RUN, StepPipe, TextPipe, TextsPipe } from './names';
import { QueryGate, READING } from './query-gate';
import { RunQuery } from './run-query';

/** Database queries of the page. */
@Controller('api')
@UseInterceptors(Deltas, QueryGate)
export class ApiController {
  constructor(
    @Inject(READING) private readonly dataSource: DataSource,
    private readonly components: ComponentRegistry,
  ) {}

  /** A page of at most 200 runs, see the parameters below. */
  @Get('runs')
  runs(@Query() query: RunQuery): Promise<ListedRun[]> {
    return listRuns(this.dataSource, query);
  }

  /**
   * The options whose values differ between runs of a list; parameters as for `/api/runs`, or `run`, once or several
   * times, names the runs.
   */
  @Get('run-differences')
  async differences(@Query() { run, ...query }: DifferencesQuery): Promise<DifferingOption[]> {
    const ids = run ?? (await listRunIds(this.dataSource, query));
    return differingOptions(await readRunOptions(this.dataSource, ids), this.components);
  }

  /** A run with its checkpoints and the latest entries of its log. */
  @Get('runs/:run')
  async run(@Param('run', RUN) id: string): Promise<RunDetail> {
    const run = found(await findRun(this.dataSource, id), `run ${id}`);
    return { ...run, config: redactRunFile(run.config, this.components) };
  }

  /**
   * Every option of the run file with its help, value and default, as described where the run was announced, else by
   * the components that the monitor knows. Empty until the run file arrives.
   */
  @Get('runs/:run/configuration')
  async configuration(@Param('run', RUN) id: string): Promise<ConfigurationGroup[]> {
    const recorded = found(await findConfiguration(this.dataSource, id), `run ${id}`);
    const { config, configuration } = recorded;
    if (configuration !== null) return configuration;
    return Object.keys(config).length === 0 ? [] : describeRun(config, this.components);
  }

  /**
   * Data of the charts: training by policy version, metrics by step, episodes by time. `metric`, once or several
   * times, names the metrics; without it, all of them.
   */
  @Get('runs/:run/curves')
  curves(@Param('run', RUN) id: string, @Query('metric', TextsPipe) metrics?: string[]): Promise<Curves> {
    return readCurves(this.dataSource, id, metrics);
  }

  /** The metrics that the steps of a run have, with their units and meanings where these are known. */
  @Get('runs/:run/metrics')
  async metrics(@Param('run', RUN) id: string): Promise<MetricInfo[]> {
    const names = await listMetrics(this.dataSource, id);
    return names.map((name) => ({ unit: '', meaning: '', ...metricInfo(name), name }));
  }

  /** How a run does, from its records: where the time went, staleness, dead letters. */
  @Get('runs/:run/health')
  health(@Param('run', RUN) id: string): Promise<RecordedHealth> {
    return readHealth(this.dataSource, id);
  }

  /** Rollouts that actors play at the moment, the oldest first, at most 200. */
  @Get('runs/:run/in-progress')
  inProgress(@Param('run', RUN) id: string): Promise<RolloutInProgress[]> {
    return listInProgress(this.dataSource, id);
  }

  /** A step, with its groups and their episodes. */
  @Get('runs/:run/steps/:step')
  async step(@Param('run', RUN) id: string, @Param('step', StepPipe) step: number): Promise<StepDetail> {
    return found(await findStep(this.dataSource, id, step), `step ${step} of run ${id}`);
  }

  /** Successes per task, before and after training. */
  @Get('runs/:run/tasks')
  tasks(@Param('run', RUN) id: string): Promise<TaskScoreView[]> {
    return readTaskScores(this.dataSource, id);
  }

  /** Successes in training by task and policy version. */
  @Get('runs/:run/heat-map')
  heatMap(@Param('run', RUN) id: string): Promise<TaskHeatMap> {
    return readTaskHeatMap(this.dataSource, id);
  }

  /** The checks that failed in most episodes, at most 100. */
  @Get('runs/:run/failed-checks')
  failedChecks(@Param('run', RUN) id: string): Promise<FailedCheck[]> {
    return listFailedChecks(this.dataSource, id);
  }

  /** The evaluations of a run side by side, compared with the first one or with the one whose id is `to`. */
  @Get('runs/:run/evaluations')
  evaluations(
    @Param('run', RUN) id: string,
    @Query('to', TextPipe) to?: string,
  ): Promise<EvaluationComparison[]> {
    return compareEvaluations(this.dataSource, id, to);
  }

  /** A page of episodes, see the parameters below. */
  @Get('runs/:run/episodes')
  episodes(@Param('run', RUN) runId: string, @Query() query: EpisodeQuery): Promise<EpisodePage> {
    return listEpisodes(this.dataSource, Object.assign(query, { runId }));
  }

  /** Episodes as published, with their tokens, at most 50 at a time; parameters as for `/api/runs/:run/episodes`. */
  @Get('runs/:run/trajectories')
  trajectories(@Param('run', RUN) runId: string, @Query() query: EpisodeQuery): Promise<TrajectoryPage> {
    return listTrajectories(this.dataSource, Object.assign(query, { runId }));
  }

  /** An episode, turn by turn, with the result of each check of its task. */
  @Get('episodes/:rollout')
  async episode(@Param('rollout', ROLLOUT) id: string): Promise<JudgedEpisode> {
    const episode = found(await findEpisode(this.dataSource, id), `episode ${id}`);
    return { ...episode, checks: judgedChecks(episode) };
  }

  /** The prompt of a turn, counted from 0, in tokens. */
  @Get('episodes/:rollout/turns/:turn/prompt')
  async prompt(
    @Param('rollout', ROLLOUT) id: string,
    @Param('turn', StepPipe) turn: number,
  ): Promise<TurnPrompt> {
    return found(await findPrompt(this.dataSource, id, turn), `turn ${turn} of episode ${id}`);
  }
}
