import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsISO8601,
  IsNotEmpty,
  IsNumber,
  IsOptional,
  IsString,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { IsRunId, IsToken } from '../ids';
import { Count } from '../limits';

/** Asks the hosts of a service which of them serves a run. */
export class ServingRequest {
  @IsString()
  @IsNotEmpty()
  runId: string;

  /** Whether the reply includes `process`. Default: false. */
  @IsOptional()
  @IsBoolean()
  withProcess?: boolean;
}

export const LOG_LEVELS = ['verbose', 'debug', 'log', 'warn', 'error', 'fatal'] as const;

/** Maximum number of entries of a log's tail, and of characters of an entry. */
export const MAX_LOG_TAIL = 100;
export const MAX_LOG_ENTRY = 2_000;

/** An entry of a service's log. */
export class LogLine {
  @IsISO8601()
  at: string;

  @IsIn(LOG_LEVELS)
  level: (typeof LOG_LEVELS)[number];

  /** The part of the service that wrote it. */
  @IsString()
  @MaxLength(200)
  context: string;

  @IsString()
  @MaxLength(MAX_LOG_ENTRY)
  message: string;
}

/** A process of a service, and its machine. */
export class ProcessStatus {
  @IsString()
  @MaxLength(255)
  host: string;

  @Count()
  pid: number;

  @IsNumber()
  @Min(0)
  uptimeSeconds: number;

  /** CPU cores in use, mean of the last seconds; without other processes, such as browsers. */
  @IsNumber()
  @Min(0)
  cpuCores: number;

  /** Resident memory; without other processes. */
  @IsNumber()
  @Min(0)
  memoryBytes: number;

  /** Number of cores of the machine. */
  @Count()
  machineCores: number;

  /** Its load average of one minute; 0 on a system without one. */
  @IsNumber()
  @Min(0)
  machineLoad: number;

  @IsNumber()
  @Min(0)
  machineMemoryBytes: number;

  /** The part that programs can still get. */
  @IsNumber()
  @Min(0)
  machineFreeBytes: number;

  /** The latest entries of its log, oldest first. */
  @IsArray()
  @ArrayMaxSize(MAX_LOG_TAIL)
  @ValidateNested({ each: true })
  @Type(() => LogLine)
  log: LogLine[];
}

export class ServingReply {
  @IsString()
  @IsNotEmpty()
  instance: string;

  @IsOptional()
  @ValidateNested()
  @Type(() => ProcessStatus)
  process?: ProcessStatus;
}

/** A host's report that it cannot serve the run, with the reason. The subject names service and run. */
export class UnservedRequest {
  @IsString()
  @IsNotEmpty()
  reason: string;
}

/** Why a run continues although a host cannot serve it, or that it fails. */
export const UNSERVED_VERDICTS = ['served_before', 'served_elsewhere', 'failed'] as const;

export class UnservedReply {
  @IsIn(UNSERVED_VERDICTS)
  verdict: (typeof UNSERVED_VERDICTS)[number];
}

/** Asks the monitors of a broker for the address of a run's page. */
export class MonitorPageRequest {
  @IsRunId()
  runId: string;
}

export class MonitorPageReply {
  /** Id of the monitor; `GET /api/monitor` at a correct address returns the same id. */
  @IsToken()
  instance: string;

  /** Name of its machine. */
  @IsString()
  host: string;

  /** Whether only readers on its own machine can reach it. */
  @IsBoolean()
  localOnly: boolean;

  /** Its possible addresses, the likeliest first: `http://127.0.0.1:8080`. */
  @IsArray()
  @IsString({ each: true })
  addresses: string[];

  /** Path of the run's page. */
  @IsString()
  path: string;
}
