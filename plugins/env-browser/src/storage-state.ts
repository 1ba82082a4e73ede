import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { plainToInstance, Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsIn,
  IsNotEmpty,
  IsNumber,
  IsOptional,
  IsString,
  ValidateNested,
  validateSync,
  type ValidationError,
} from 'class-validator';
import type { BrowserContextOptions } from 'playwright';
import { BrowserError } from './errors';

/** The output of Playwright's `context.storageState({path})` for a logged-in user. */
export type StorageState = Exclude<NonNullable<BrowserContextOptions['storageState']>, string>;

/** Environment variable of the env service that names the folder. */
export const STORAGE_STATES = 'BROWSER_STORAGE_STATES';

/** A file name in the configured folder, not a path. */
const NAME = /^[A-Za-z0-9][\w.-]{0,127}$/;

export function isStorageStateName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/**
 * Reads `<folder>/<name>.json`. Messages give the location of an error, never the content.
 *
 * @throws BrowserError `bad_task`
 */
export function readStorageState(folder: string | undefined, name: string): StorageState {
  const wrong = (problem: string): never => {
    throw new BrowserError('bad_task', `environment option "storage_state" is "${name}", ${problem}`);
  };
  if (folder === undefined) {
    return wrong(`but this env service has no such files: ${STORAGE_STATES} names its folder of them`);
  }
  const state = plainToInstance(StorageStateFile, parse(join(folder, `${name}.json`), wrong));
  const [problem] = validateSync(state).flatMap((error) => problemsOf(error));
  if (problem !== undefined) return wrong(`whose file is none of Playwright's storage states: ${problem}`);
  return state;
}

function parse(path: string, wrong: (problem: string) => never): object {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return wrong(
      `but ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'no reason given'})`,
    );
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The parser's message quotes the file.
  }
  return wrong(`but ${path} holds no JSON object`);
}

function problemsOf({ property, constraints = {}, children = [] }: ValidationError, parent = ''): string[] {
  const path = parent === '' ? property : `${parent}.${property}`;
  const own = Object.values(constraints).map((message) => message.replace(property, path));
  return [...own, ...children.flatMap((child) => problemsOf(child, path))];
}

class Cookie {
  @IsString()
  @IsNotEmpty()
  name: string;

  @IsString()
  value: string;

  @IsString()
  @IsNotEmpty()
  domain: string;

  @IsString()
  path: string;

  @IsNumber()
  expires: number;

  @IsBoolean()
  httpOnly: boolean;

  @IsBoolean()
  secure: boolean;

  @IsIn(['Strict', 'Lax', 'None'])
  sameSite: 'Strict' | 'Lax' | 'None';
}

class Item {
  @IsString()
  name: string;

  @IsString()
  value: string;
}

class Origin {
  @IsString()
  @IsNotEmpty()
  origin: string;

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Item)
  localStorage: Item[];

  @IsOptional()
  @IsArray()
  indexedDB?: unknown[];
}

class StorageStateFile {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Cookie)
  cookies: Cookie[];

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Origin)
  origins: Origin[];
}
