import { type DynamicModule, Module } from '@nestjs/common';
import { ComponentRegistry } from '@ui-rl/plugin-kit';
import { TerminusModule } from '@nestjs/terminus';
import { BusModule, type BusService } from '@ui-rl/bus';
import { type Database, embeddedUse, type ScreenshotFolder, serverUse } from '@ui-rl/records';
import { DataSource } from 'typeorm';
import { ApiController } from './http/api.controller';
import { HealthController } from './http/health.controller';
import { LiveController } from './http/live.controller';
import { DeadLetterController } from './http/dead-letter.controller';
import { RunEditController } from './http/run-edit.controller';
import { RunHealthController } from './http/run-health.controller';
import { MEASURE, StoreController } from './http/store.controller';
import { READERS, READING } from './http/query-gate';
import { BrokerLink } from './broker-link';
import { LiveChanges } from './live';
import { Batcher } from './recording/batcher';
import { PhaseFollower } from './recording/phase-follower';
import { RecordingController } from './recording/recording.controller';
import { Screenshots } from './recording/screenshots';

export interface MonitorParts {
  database: Database;
  /** Null: it records nothing. */
  bus: BusService | null;
  components: ComponentRegistry;
  /** Folder of an embedded database. */
  dataDir: string | null;
  /** See `Screenshots`. */
  screenshots: ScreenshotFolder | null;
}

/** Database and bus are created outside, because both may wait for a server, and close after everything here. */
@Module({})
export class MonitorModule {
  static forRoot({ database, bus, components, dataDir, screenshots }: MonitorParts): DynamicModule {
    const { dataSource, reading, readers } = database;
    const live = new LiveChanges();
    const batcher = new Batcher(dataSource, { committed: (items) => live.committed(items) });
    return {
      module: MonitorModule,
      imports: [...(bus === null ? [] : [BusModule.forRoot(bus)]), TerminusModule],
      controllers: [
        ...(bus === null ? [] : [RecordingController]),
        ApiController,
        RunEditController,
        RunHealthController,
        LiveController,
        DeadLetterController,
        StoreController,
        HealthController,
      ],
      providers: [
        { provide: DataSource, useValue: dataSource },
        { provide: READING, useValue: reading },
        { provide: READERS, useValue: readers },
        { provide: ComponentRegistry, useValue: components },
        { provide: LiveChanges, useValue: live },
        { provide: Batcher, useValue: batcher },
        { provide: BrokerLink, useValue: new BrokerLink(bus) },
        { provide: Screenshots, useValue: new Screenshots(bus, screenshots) },
        { provide: MEASURE, useValue: () => (dataDir === null ? serverUse(database) : embeddedUse(dataDir)) },
        ...(bus === null ? [] : [PhaseFollower]),
      ],
    };
  }
}
