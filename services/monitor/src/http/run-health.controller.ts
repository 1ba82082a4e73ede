import {
  Body,
  ConflictException,
  Controller,
  Get,
  Param,
  Put,
  ServiceUnavailableException,
  UseInterceptors,
} from '@nestjs/common';
import { BusError, type BusService, FINAL_PHASES } from '@ui-rl/bus';
import { SERVED_BY, ServingReply, subjects } from '@ui-rl/contracts';
import type { LiveHealth, LiveService } from '@ui-rl/records';
import { DEADLINES } from '@ui-rl/retry';
import { LRUCache } from 'lru-cache';
import { BrokerLink } from '../broker-link';
import { RUN } from './names';
import { StoreGate } from './query-gate';
import { RunControl } from './run-control';

const { ms: WITHIN_MS } = DEADLINES.servicesOnPage;
const FRESH_MS = 2_000;

/** The services of a run at this moment, and the orders of readers to them. */
@Controller('api/runs/:run')
@UseInterceptors(StoreGate)
export class RunHealthController {
  /** By run: pages that are open at the same time share an answer. */
  private readonly latest = new LRUCache<string, Promise<LiveHealth>>({ max: 100, ttl: FRESH_MS });

  constructor(private readonly link: BrokerLink) {}

  /** The services of a run and its queues, at most 2 s ago. */
  @Get('live')
  async live(@Param('run', RUN) runId: string): Promise<LiveHealth> {
    const { bus } = this.link;
    if (bus === null) return { hasBroker: false, services: [], queues: [] };
    const known = this.latest.get(runId);
    if (known !== undefined) return known;
    const asked = ask(bus, runId);
    this.latest.set(runId, asked);
    asked.catch(() => this.latest.delete(runId));
    return asked;
  }

  /** Pauses, continues or stops a run; 409 if it has ended, or this monitor has no broker. */
  @Put('control')
  async control(
    @Param('run', RUN) runId: string,
    @Body() { order, reason }: RunControl,
  ): Promise<RunControl> {
    const { bus } = this.link;
    if (bus === null)
      throw new ConflictException('this monitor has no broker: open the page that belongs to the live run');
    await inTime(obey(bus, runId, { order, reason })).catch((error: unknown) => {
      if (error instanceof BusError && error.category === 'conflict')
        throw new ConflictException(error.message);
      throw error;
    });
    return { order, reason };
  }
}

/** @throws BusError `conflict` if the run has ended, or is unknown */
async function obey(bus: BusService, runId: string, { order, reason }: RunControl): Promise<void> {
  if (order !== 'stop') {
    await bus.runs.setPause(runId, order === 'pause', reason);
    return;
  }
  const before = (await bus.runs.state(runId))?.phase;
  const isOpen = before !== undefined && !FINAL_PHASES.includes(before);
  if (isOpen && (await bus.runs.changePhase(runId, 'stopped', { reason }))) return;
  const found = before === undefined ? 'this broker knows of no such run' : `it has ended: ${before}`;
  throw new BusError('conflict', `run ${runId} cannot be stopped: ${found}`);
}

async function ask(bus: BusService, runId: string): Promise<LiveHealth> {
  const [services, queues] = await inTime(
    Promise.all([servicesOf(bus, runId), bus.runStorage.readers(runId)]),
  );
  return { hasBroker: true, services, queues };
}

async function servicesOf(bus: BusService, runId: string): Promise<LiveService[]> {
  const request = { runId, withProcess: true };
  const found = await Promise.all(
    SERVED_BY.map(async (service): Promise<LiveService[]> => {
      const replies = await bus.gather(subjects.serving(service, runId), request, WITHIN_MS, ServingReply);
      return replies.map(({ instance, process = null }) => ({ service, instance, process }));
    }),
  );
  return found.flat().toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)));
}

function nameOf({ service, instance }: LiveService): string {
  return `${service} ${instance}`;
}

/** Operations of the bus wait for an absent broker without a limit. */
async function inTime<T>(asked: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = 'the broker does not answer: the state of the services is unknown';
    timer = setTimeout(() => reject(new ServiceUnavailableException(message)), 2 * WITHIN_MS);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
