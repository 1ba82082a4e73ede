import {
  BadRequestException,
  Controller,
  Get,
  Header,
  type MessageEvent,
  NotFoundException,
  Param,
  Query,
  Sse,
  StreamableFile,
} from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { type ConfigurationGroup, isRunId, metricInfo, type MetricInfo } from '@ui-rl/contracts';
import { ComponentRegistry } from '@ui-rl/plugin-kit';
import {
  type Curves,
  type EpisodeDetail,
  type EpisodePage,
  findConfiguration,
  findEpisode,
  findRun,
  listEpisodes,
  listRuns,
  readCurves,
  readTaskScores,
  type RunDetail,
  type RunSummary,
  type TaskScoreView,
} from '@ui-rl/records';
import { describeRun, redactRunFile } from '@ui-rl/settings';
import { DataSource } from 'typeorm';
import { interval, map, merge, type Observable, of } from 'rxjs';
import { LiveChanges } from '../live';
import { EpisodeQuery } from './episode-query';

const SHA256 = /^[0-9a-f]{64}$/;
const KEEP_ALIVE_MS = 20_000;

/** What the page reads. */
@Controller('api')
export class ApiController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly bus: BusService,
    private readonly live: LiveChanges,
    private readonly components: ComponentRegistry,
  ) {}

  /** Which monitor this is, so that who has several addresses of one knows the right one. */
  @Get('monitor')
  monitor(): { instance: string } {
    return { instance: this.bus.instance };
  }

  @Get('runs')
  runs(): Promise<RunSummary[]> {
    return listRuns(this.dataSource);
  }

  /** A run with its checkpoints and the newest of its log. */
  @Get('runs/:run')
  async run(@Param('run') id: string): Promise<RunDetail> {
    const run = found(await findRun(this.dataSource, id), `run ${id}`);
    return { ...run, config: redactRunFile(run.config, this.components) };
  }

  /**
   * Every option of the run file with its help, value and default, as described where the run was announced, else by the components
   * that the monitor knows. Empty before the run file arrives.
   */
  @Get('runs/:run/configuration')
  async configuration(@Param('run') id: string): Promise<ConfigurationGroup[]> {
    const recorded = found(await findConfiguration(this.dataSource, id), `run ${id}`);
    const { config, configuration } = recorded;
    if (configuration !== null) return configuration;
    return Object.keys(config).length === 0 ? [] : describeRun(config, this.components);
  }

  /** What the page draws: training by policy version, metrics by step, episodes by time. */
  @Get('runs/:run/curves')
  curves(@Param('run') id: string): Promise<Curves> {
    return readCurves(this.dataSource, id);
  }

  /** Successes per task, before and after. */
  @Get('runs/:run/tasks')
  tasks(@Param('run') id: string): Promise<TaskScoreView[]> {
    return readTaskScores(this.dataSource, id);
  }

  /** A page of episodes; its parameters stand below. */
  @Get('runs/:run/episodes')
  episodes(@Param('run') runId: string, @Query() query: EpisodeQuery): Promise<EpisodePage> {
    return listEpisodes(this.dataSource, { runId, ...query.filter() });
  }

  /** What a metric of a batch says; an empty body where nobody knows it. */
  @Get('metrics')
  metric(@Query('name') name = ''): MetricInfo | null {
    return metricInfo(name) ?? null;
  }

  /** An episode, turn by turn. */
  @Get('episodes/:rollout')
  async episode(@Param('rollout') id: string): Promise<EpisodeDetail> {
    return found(await findEpisode(this.dataSource, id), `episode ${id}`);
  }

  /** PNG bytes by content hash; never anything but a run id and 64 hexadecimal digits reaches the store. */
  @Get('runs/:run/screenshots/:hash')
  @Header('Content-Type', 'image/png')
  @Header('Cache-Control', 'public, max-age=31536000, immutable')
  async screenshot(@Param('run') run: string, @Param('hash') hash: string): Promise<StreamableFile> {
    if (!isRunId(run)) throw new BadRequestException('a run is named by letters, digits, - and _');
    if (!SHA256.test(hash)) throw new BadRequestException('a screenshot is named by 64 hexadecimal digits');
    const bytes = found(await this.bus.blobs.of(run).get(hash), `screenshot ${hash} of run ${run}`);
    return new StreamableFile(bytes, { type: 'image/png', length: bytes.byteLength });
  }

  /** Server-sent events: `change` with a list of `LiveChange`, `ping` to keep the connection. */
  @Sse('live')
  changes(@Query('run') run?: string): Observable<MessageEvent> {
    const changes = this.live.follow(run).pipe(map((data) => ({ type: 'change', data })));
    const pings = interval(KEEP_ALIVE_MS).pipe(map(() => ({ type: 'ping', data: {} })));
    return merge(of({ type: 'ping', data: {} }), changes, pings);
  }
}

function found<T>(value: T | null, what: string): T {
  if (value === null) throw new NotFoundException(`there is no ${what}`);
  return value;
}
