import { IsArray, IsBoolean, IsIn, IsNotEmpty, IsString } from 'class-validator';
import { IsRunId, IsToken } from '../ids';

/** Asks the hosts of a service which of them serves a run. */
export class ServingRequest {
  @IsString()
  @IsNotEmpty()
  runId: string;
}

export class ServingReply {
  @IsString()
  @IsNotEmpty()
  instance: string;
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
