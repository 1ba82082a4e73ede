import { Doc, Fits, isRecord, isServerAddress } from '@ui-rl/plugin-kit';
import { ACTION_NAMES } from '@ui-rl/plugin-kit';
import type { ToolCall } from './mcp-environment';
import { IsIn, IsInt, IsObject, IsOptional, IsString, Matches, Max, Min } from 'class-validator';

export const TRANSPORTS = ['websocket', 'http', 'mcp'] as const;
export const FORMATS = ['auto', 'ui-rl', 'browsergym', 'templates'] as const;

export const OBSERVATIONS = ['screenshot', 'text', 'both'] as const;

const Servers = () =>
  Fits(
    'a list of addresses such as http://host:8000, none twice',
    (value) => Array.isArray(value) && value.every(isServerAddress) && new Set(value).size === value.length,
    (text) => text.split(','),
  );

/** Options of all protocols. The options of a task's episode are a `TaskSpec`. */
class RemoteOptions {
  @Doc('maximum number of concurrent episodes per server')
  @IsInt()
  @Min(1)
  @Max(1_000)
  sessions_per_server = 1;

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

export class OpenEnvOptions extends RemoteOptions {
  @Doc('addresses of the servers, http://host:8000; default: those of OPENENV_SERVERS')
  @Servers()
  servers: string[] = [];

  @Doc(
    'websocket (one socket is one environment), http (servers that keep an environment between requests), mcp (tools, over JSON-RPC)',
  )
  @IsIn(TRANSPORTS)
  transport: (typeof TRANSPORTS)[number] = 'websocket';

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
  first_call?: ToolCall;
}

const Call = () => Fits('an object with "name" and perhaps "arguments"', isCall, (text) => JSON.parse(text));

export class McpOptions extends RemoteOptions {
  @Doc('addresses of the servers with their paths, http://host:8000/mcp; default: those of MCP_SERVERS')
  @Servers()
  servers: string[] = [];

  @Doc(
    'action → tool to call; "$x", "$y", "$text", "$keys", "$chord" (keys joined by "+") … stand for its fields: {type: {name: type_text, arguments: {text: $text}}}; other actions are unsupported; default: tools named as actions',
  )
  @IsOptional()
  @IsObject()
  @Fits(
    `an object by names of actions (${ACTION_NAMES.join(', ')}) of objects with "name" and perhaps "arguments"`,
    (value) => isTemplates(value) && Object.values(value as object).every(isCall),
    (text) => JSON.parse(text),
  )
  tools?: Record<string, ToolCall>;

  @Doc(
    'the call that begins an episode, {name: start_episode, arguments: {seed: $seed}}; "$…" stand for the seed and the reset of a task',
  )
  @IsOptional()
  @IsObject()
  @Call()
  begin?: ToolCall;

  @Doc('the call that returns the screen, for results that have no picture')
  @IsObject()
  @Call()
  screen: ToolCall = { name: 'screenshot' };

  @Doc('the call that ends an episode')
  @IsOptional()
  @IsObject()
  @Call()
  end?: ToolCall;

  @Doc(
    'arguments of every call after "begin"; "$…" stand for fields of its structured result: {episode_id: $episode_id}',
  )
  @IsObject()
  every_call: Record<string, unknown> = {};
}

function isTemplates(value: unknown): value is Record<string, object> {
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
