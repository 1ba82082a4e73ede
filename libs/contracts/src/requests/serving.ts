import { IsArray, IsBoolean, IsIn, IsNotEmpty, IsString } from 'class-validator';
import { IsRunId, IsToken } from '../ids';

/** Asks the hosts of a service who serves a run. */
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

/** A host cannot serve the run, and says why. Service and run are those of the subject. */
export class UnservedRequest {
  @IsString()
  @IsNotEmpty()
  reason: string;
}

/** Why a run that a host cannot serve goes on, or that it does not. */
export const UNSERVED_VERDICTS = ['served_before', 'served_elsewhere', 'failed'] as const;

export class UnservedReply {
  @IsIn(UNSERVED_VERDICTS)
  verdict: (typeof UNSERVED_VERDICTS)[number];
}

/** Asks the monitors of a broker where they show a run. */
export class MonitorPageRequest {
  @IsRunId()
  runId: string;
}

export class MonitorPageReply {
  /** Who answers: what `GET /api/monitor` says at an address that is right. */
  @IsToken()
  instance: string;

  /** Name of its machine. */
  @IsString()
  host: string;

  /** Only readers on its own machine reach it. */
  @IsBoolean()
  localOnly: boolean;

  /** Addresses it may have, the likeliest to be right first: `http://127.0.0.1:8080`. */
  @IsArray()
  @IsString({ each: true })
  addresses: string[];

  /** The run, behind the address. */
  @IsString()
  path: string;
}
