import { Doc, Fits, isServerAddress } from '@ui-rl/plugin-kit';
import { IsIn, IsInt, IsNumber, Matches, Max, Min } from 'class-validator';

/** Options of the environment; a task has only `session_type`. */
export class UiVerifiersOptions {
  @Doc(
    'addresses of the servers, http://host:8000, or http://host:8000/proxy/SESSION each behind a proxy; default: those of UI_VERIFIERS_SERVERS',
  )
  @Fits(
    'a list of addresses such as http://host:8000, none twice',
    (value) => Array.isArray(value) && value.every(isServerAddress) && new Set(value).size === value.length,
    (text) => text.split(','),
  )
  ui_env_urls: string[] = [];

  @Doc(
    'what the servers are: one (one session each, also behind a proxy), many (they open sessions), auto (they are asked)',
  )
  @IsIn(['auto', 'one', 'many'])
  sessions: 'auto' | 'one' | 'many' = 'auto';

  @Doc('type of the sessions that a server of many opens, for tasks that do not say theirs')
  @Matches(/^[\w-]{1,100}$/, { message: 'must be a name such as simple_data_entry' })
  session_type = 'simple_data_entry';

  @Doc('maximum number of concurrent sessions per server; more than 1 needs sessions: many')
  @IsInt()
  @Min(1)
  @Max(1_000)
  sessions_per_server = 1;

  @Doc('seconds between an action and its screenshot')
  @IsNumber()
  @Min(0)
  @Max(60)
  delay_seconds = 1;

  @Doc(
    'a server of one session, for the next episode: continue (it plays on where the last one ended), restart (it waits until the server was started anew)',
  )
  @IsIn(['continue', 'restart'])
  between_episodes: 'continue' | 'restart' = 'continue';

  @Doc('maximum size of an answer of a server, in MiB')
  @IsInt()
  @Min(1)
  @Max(1_024)
  max_answer_mb = 32;
}
