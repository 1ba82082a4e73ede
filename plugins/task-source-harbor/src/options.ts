import { Doc, Fits, isRecord, isServerAddress, LocalFile } from '@ui-rl/plugin-kit';
import {
  IsBoolean,
  IsInt,
  IsNotEmpty,
  IsNumber,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
} from 'class-validator';

export class HarborOptions {
  @Doc('task folder of Harbor, which has a task.toml, or a folder of such folders')
  @LocalFile({ kind: 'folder' })
  path: string;

  @Doc(
    'the environments of the tasks are running already, as each task.toml and its environment/ describe them; without it, tasks that need a container are rejected',
  )
  @IsBoolean()
  started = false;

  @Doc(
    'where the MCP servers are reachable, by task or by address in task.toml: {http://desktop:8000/mcp: [http://127.0.0.1:8000/mcp]}; default: the address in task.toml',
  )
  @Fits(
    'an object of lists of addresses such as http://127.0.0.1:8000/mcp',
    isServers,
    (text) => JSON.parse(text) as unknown,
  )
  servers: Record<string, string[]> = {};

  @Doc('name of the MCP server that operates the screen, in tasks that have several')
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  server?: string;

  @Doc('text after each instruction.md, such as "Finish with the code as your answer."')
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(2_000)
  extra_instructions?: string;

  @Doc('maximum turns of each task; default: rollout.max_turns')
  @IsOptional()
  @IsInt()
  @Min(1)
  max_steps?: number;
}

export class HarborTestsOptions {
  @Doc('the same folder as `path` of the task source harbor')
  @LocalFile({ kind: 'folder' })
  path: string;

  @Doc('the value that is paid, if reward.json has several')
  @IsString()
  @IsNotEmpty()
  @MaxLength(200)
  key = 'reward';

  @Doc('smallest reward that counts as a success, in the verdict harbor-tests')
  @IsNumber({ allowNaN: false, allowInfinity: false })
  success_at = 1;

  @Doc(
    "file below /app that test.sh reads and that gets the agent's answer, for tasks whose agent writes a file: /app/secret.txt",
  )
  @IsOptional()
  @Fits('a path below /app', isAnswerFile)
  answer_file?: string;

  @Doc(
    'maximum time of a test, in seconds; less where [verifier] timeout_sec or rollout.turn_timeout_ms is less',
  )
  @IsInt()
  @Min(1)
  @Max(3_600)
  timeout_s = 120;
}

function isServers(value: unknown): boolean {
  return (
    isRecord(value) &&
    Object.values(value).every(
      (each) => Array.isArray(each) && each.length > 0 && each.every((address) => isServerAddress(address)),
    )
  );
}

function isAnswerFile(value: unknown): boolean {
  return typeof value === 'string' && /^\/app(\/(?!\.\.?(\/|$))[\w.+@-]{1,100}){1,10}$/.test(value);
}
