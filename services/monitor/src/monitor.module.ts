import { type DynamicModule, Module } from '@nestjs/common';
import { ComponentRegistry } from '@ui-rl/plugin-kit';
import { TerminusModule } from '@nestjs/terminus';
import { BusModule, type BusService } from '@ui-rl/bus';
import type { Database } from '@ui-rl/records';
import { DataSource } from 'typeorm';
import { ApiController } from './http/api.controller';
import { HealthController } from './http/health.controller';
import { LiveController } from './http/live.controller';
import { DeadLetterController } from './http/dead-letter.controller';
import { RunEditController } from './http/run-edit.controller';
import { READERS, READING } from './http/query-gate';
import { LiveChanges } from './live';
import { Batcher } from './recording/batcher';
import { PhaseFollower } from './recording/phase-follower';
import { RecordingController } from './recording/recording.controller';

/** Database and bus are created outside, because both may wait for a server, and close after everything here. */
@Module({})
export class MonitorModule {
  static forRoot(
    { dataSource, reading, readers }: Database,
    bus: BusService,
    components: ComponentRegistry,
  ): DynamicModule {
    const live = new LiveChanges();
    const batcher = new Batcher(dataSource, { committed: (items) => live.committed(items) });
    return {
      module: MonitorModule,
      imports: [BusModule.forRoot(bus), TerminusModule],
      controllers: [
        RecordingController,
        ApiController,
        RunEditController,
        LiveController,
        DeadLetterController,
        HealthController,
      ],
      providers: [
        { provide: DataSource, useValue: dataSource },
        { provide: READING, useValue: reading },
        { provide: READERS, useValue: readers },
        { provide: ComponentRegistry, useValue: components },
        { provide: LiveChanges, useValue: live },
        { provide: Batcher, useValue: batcher },
        PhaseFollower,
      ],
    };
  }
}
