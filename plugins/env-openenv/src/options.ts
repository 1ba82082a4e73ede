import { Doc, Fits, isRecord, isServerAddress } from '@ui-rl/plugin-kit';
import { ACTION_NAMES } from '@ui-rl/plugin-kit';
import { IsIn, IsInt, IsObject, IsOptional, IsString, Matches, Max, Min } from 'class-validator';

export const TRANSPORTS = ['websocket', 'http', 'mcp'] as const;
export const FORMATS = ['auto', 'ui-rl', 'browsergym', 'templates'] as const;

export const OBSERVATIONS = ['screenshot', 'text', 'both'] as const;

/** Options of the environment; the options of a task's episode are a `TaskSpec`. */
export class OpenEnvOptions {
  @Doc('addresses of the servers, http://host:8000; default: those of OPENENV_SERVERS')
  @Fits(
    'a list of addresses such as http://host:8000, none twice',
    (value) => Array.isArray(value) && value.every(isServerAddress) && new Set(value).size === value.length,
    (text) => text.split(','),
  )
  servers: string[] = [];

  @Doc(
    'websocket (one socket is one environment), http (servers that keep an environment between requests), mcp (tools, over JSON-RPC)',
  )
  @IsIn(TRANSPORTS)
  transport: (typeof TRANSPORTS)[number] = 'websocket';

  @Doc('maximum number of concurrent episodes per server')
  @IsInt()
  @Min(1)
  @Max(1_000)
  sessions_per_server = 1;

  @Doc(
    "how actions are written: browsergym ({action_str}), ui-rl (this project's own), templates (as below), auto (as the server's /schema says)",
  )
  @IsIn(FORMATS)
  actions: (typeof FORMATS)[number] = 'auto';

  @Doc(
    'action → message to send; "$x", "$y", "$text", "$keys" … stand for its fields: {type: {message: "$text"}}; other actions are unsupported',
  )
  @IsOptional()
  @IsObject()
  @Fits(`an object by names of actions (${ACTION_NAMES.join(', ')})`, isTemplates, (text) => JSON.parse(text))
  templates?: Record<string, Record<string, unknown>>;

  @Doc(
    'transport mcp: the call whose result is the first screen, {name: screenshot}; default: the list of tools',
  )
  @IsOptional()
  @IsObject()
  @Fits('an object with "name" and perhaps "arguments"', isCall, (text) => JSON.parse(text))
  first_call?: { name: string; arguments?: Record<string, unknown> };

  @Doc(
    'dotted path of the picture in an observation: rows of pixels, or a PNG in base64; if it is missing, the text is drawn',
  )
  @IsString()
  @Matches(/^[\w.]{1,200}$/)
  picture = 'screenshot';

  @Doc('dotted path of the text, which is drawn if there is no picture; default: the whole observation')
  @IsOptional()
  @IsString()
  @Matches(/^[\w.]{1,200}$/)
  text?: string;

  @Doc(
    'observation: screenshot; text, that at the path above; or both. Positions in a text should be pixels of the picture',
  )
  @IsIn(OBSERVATIONS)
  observation: (typeof OBSERVATIONS)[number] = 'screenshot';

  @Doc('maximum size of an answer of a server, in MiB')
  @IsInt()
  @Min(1)
  @Max(1_024)
  max_answer_mb = 64;
}

function isTemplates(value: unknown): boolean {
  return (
    isRecord(value) &&
    Object.entries(value).every(
      ([name, template]) => ACTION_NAMES.includes(name as never) && isRecord(template),
    )
  );
}

function isCall(value: unknown): boolean {
  if (!isRecord(value) || typeof value.name !== 'string') return false;
  return value.arguments === undefined || isRecord(value.arguments);
}
