import { IsIn, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { Above, Doc, Fits, MAX_WAIT_MS, type RunView } from '@ui-rl/plugin-kit';

/** Run file options for servers of every kind. */
export class ServerOptions {
  @Doc('addresses of the servers, http://host:port; the least busy one is asked, an episode stays on one')
  @Fits(
    'a list of addresses such as http://host:8000, none twice',
    (value) =>
      Array.isArray(value) &&
      new Set(value).size === value.length &&
      value.length > 0 &&
      value.every(isAddress),
    (text) => text.split(','),
  )
  servers: string[];

  @Doc(
    'folder of adapters (UIRL_ADAPTERS_DIR of the learner) as the servers see it; default: under the same path',
  )
  @IsOptional()
  @IsString()
  adapters_path?: string;

  @Doc(
    'header that says which episode a request belongs to, such as X-Session-ID: a router before several servers keeps it on one of them',
  )
  @IsOptional()
  @Fits('the name of a header that is not used otherwise, such as X-Session-ID', isFreeHeader)
  routing_header?: string;

  @Doc('maximum mean difference of log-probabilities between server and engine')
  @Above(0)
  probe_tolerance = 0.05;

  @Doc('time limit for an answer of a server, in milliseconds')
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  request_timeout_ms = 120_000;

  @Doc('interval between checks of a server that does not answer, in milliseconds')
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  recheck_ms = 5_000;
}

export class VllmOptions extends ServerOptions {
  @Doc(
    'how adapters get there: endpoint (POST /v1/load_lora_adapter), or resolver (its lora_filesystem_resolver finds them in the folder)',
  )
  @IsIn(['endpoint', 'resolver'])
  load_by: 'endpoint' | 'resolver' = 'endpoint';
}

/** Headers that requests always have, or that connections need. */
const TAKEN = ['authorization', 'connection', 'content-length', 'content-type', 'cookie', 'host'];

/** A header name according to RFC 9110 (5.6.2). */
function isFreeHeader(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(value) &&
    !TAKEN.includes(value.toLowerCase())
  );
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^https?:\/\/[^\s/?#@]+$/.test(value);
}

/** Settings of a run that conflict with sampling outside the engine. */
export function conflictsOf(name: string, { model, rollout, training }: RunView): string[] {
  const refused: [boolean, string][] = [
    [model.use_lora !== true, `sampler ${name} needs model.use_lora true: servers load adapters`],
    [
      training.deterministic === true,
      `training.deterministic needs sampler engine: servers of ${name} sample otherwise each time`,
    ],
    [
      Number(rollout.top_p ?? 1) < 1 || Number(rollout.top_k ?? 0) > 0,
      `sampler ${name} does not say which tokens a cut has kept: rollout.top_p has to be 1, rollout.top_k 0`,
    ],
    [
      rollout.constrain_actions === true,
      `rollout.constrain_actions needs sampler engine: ${name} knows no grammar of the actions`,
    ],
  ];
  return refused.flatMap(([isRefused, message]) => (isRefused ? [message] : []));
}
