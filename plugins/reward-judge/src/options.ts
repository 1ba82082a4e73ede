import {
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsNumber,
  IsOptional,
  IsString,
  Max,
  Min,
} from 'class-validator';
import { Above, Doc, Fits, MAX_WAIT_MS, type RunView } from '@ui-rl/plugin-kit';

const RUBRIC =
  'The episode is a success only if the goal of the task is fully reached at the end, and the screen shows it. ' +
  'Steps towards the goal, good intentions and side effects that undo it are not enough. If you cannot tell, it is not a success.';

export class JudgeOptions {
  @Doc(
    "address of the API, OpenAI's or one like it: https://host/v1; its key comes from JUDGE_API_KEYS of the actor",
  )
  @Fits('an address such as http://host:8000/v1, without user, password or query', isAddress)
  base_url: string;

  @Doc('name of the judging model at the endpoint; it must accept images, unless screenshots is 0')
  @IsString()
  @IsNotEmpty()
  model: string;

  @Doc('definition of success; default: the screen shows that the goal is reached')
  @IsString()
  @IsNotEmpty()
  rubric = RUBRIC;

  @Doc('what a success pays')
  @IsNumber()
  @Above(0)
  weight = 1;

  @Doc('name of its part of the reward, and of its verdict')
  @Fits(
    'lower-case words joined by - or _',
    (value) => typeof value === 'string' && /^[a-z][a-z0-9]*([_-][a-z0-9]+)*$/.test(value),
  )
  part = 'judge';

  @Doc(
    'number of screenshots in the request: the last one, the first one, and others evenly between; 0 = none',
  )
  @IsInt()
  @Min(0)
  @Max(64)
  screenshots = 4;

  @Doc('include the final state that the environment reports, up to 4,000 characters')
  @IsBoolean()
  show_state = false;

  @Doc('number of requests per episode')
  @IsInt()
  @Min(1)
  @Max(32)
  votes = 1;

  @Doc('aggregation of votes: majority (a tie is 0), or mean (the share of votes for success)')
  @IsIn(['majority', 'mean'])
  aggregate: 'majority' | 'mean' = 'majority';

  @Doc('softmax temperature; default: that of the endpoint')
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(2)
  temperature?: number;

  @Doc('maximum length of an answer in tokens, thoughts included')
  @IsInt()
  @Min(16)
  max_tokens = 2_048;

  @Doc('time limit for an answer, in milliseconds; all of them end with rollout.turn_timeout_ms')
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  request_timeout_ms = 60_000;

  @Doc('maximum number of cached verdicts, in memory and in the folder JUDGE_CACHE_DIR; 0 = none')
  @IsInt()
  @Min(0)
  cache_entries = 10_000;
}

/** Conflicts between options, and with the run. */
export function problemsOf({ votes, temperature }: JudgeOptions, run?: RunView): string[] {
  const refused: [boolean, string][] = [
    [
      votes > 1 && temperature === 0,
      `reward judge: votes is ${votes}, but at temperature 0 all votes are the same`,
    ],
    [
      run?.training?.deterministic === true,
      'reward judge: an endpoint answers otherwise each time, which training.deterministic excludes',
    ],
  ];
  return refused.flatMap(([isRefused, message]) => (isRefused ? [message] : []));
}

function isAddress(value: unknown): boolean {
  return (
    typeof value === 'string' && /^https?:\/\/[^\s/?#@]+(\/[^\s?#@]*)?$/.test(value) && URL.canParse(value)
  );
}
