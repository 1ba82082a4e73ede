import { Controller, Get } from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  type HealthIndicatorResult,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { DEADLINES } from '@ui-rl/retry';
import { DataSource } from 'typeorm';
import { BrokerLink } from '../broker-link';

const TIMEOUT_MS = DEADLINES.health.ms;

@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly dataSource: DataSource,
    private readonly link: BrokerLink,
  ) {}

  /** 200 while database and broker, if the monitor has one, answer, else 503 with the ones that do not. */
  @Get()
  @HealthCheck()
  check(): Promise<HealthCheckResult> {
    const { bus } = this.link;
    return this.health.check([
      () => this.database(),
      ...(bus === null ? [] : [() => this.probe('nats', () => bus.connection.flush())]),
    ]);
  }

  private database(): Promise<HealthIndicatorResult> {
    return this.probe('database', () => this.dataSource.query('SELECT 1'));
  }

  private async probe(name: string, ask: () => Promise<unknown>): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check(name);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
    });
    try {
      await Promise.race([ask(), late]);
      return indicator.up();
    } catch (error) {
      return indicator.down(error instanceof Error ? error.message : String(error));
    } finally {
      clearTimeout(timer);
    }
  }
}
