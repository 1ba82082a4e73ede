import { readFileSync } from 'node:fs';
import { didYouMean } from '@ui-rl/plugin-kit';
import { ENVIRONMENT_VARIABLES } from './environment-variables';
import { SettingsError, type SettingsProblem } from './errors';

export type Environment = Readonly<Record<string, string | undefined>>;

const FILE = '_FILE';
const SECRET = /(?:^DATABASE_URL|_PASSWORD|_TOKEN|_API_KEY|_KEYS|_ACCESS_KEY(?:_ID)?)$/;

/**
 * Whether a variable holds a secret: it may then be given as the path of a file, `<name>_FILE`, as container engines
 * provide it.
 */
export function mayBeFile(name: string): boolean {
  return SECRET.test(name);
}

/** Reads typed values from environment variables and collects errors. Empty counts as unset. */
export class EnvironmentReader {
  readonly problems: SettingsProblem[] = [];
  /** Contents of files by variable, so that an error in a file is reported once. */
  private readonly files = new Map<string, string | undefined>();

  constructor(private readonly env: Environment) {}

  text(name: string): string | undefined {
    const value = this.written(name);
    const path = mayBeFile(name) ? this.written(`${name}${FILE}`) : undefined;
    if (path === undefined) return value;
    if (!this.files.has(name)) this.files.set(name, this.contentOf(name, path, value));
    return this.files.get(name);
  }

  private written(name: string): string | undefined {
    return textOf(this.env[name]);
  }

  private contentOf(name: string, path: string, value: string | undefined): string | undefined {
    const variable = `${name}${FILE}`;
    if (value !== undefined) {
      this.problems.push({
        category: 'conflict',
        message: `environment variables ${name} and ${variable} are both set: leave one of them out`,
      });
      return value;
    }
    try {
      return textOf(readFileSync(path, 'utf8'));
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code;
      this.problems.push({
        category: 'file',
        message: `environment variable ${variable} is "${path}", which cannot be read (${reason}): expected the path of a file with the secret`,
      });
      return undefined;
    }
  }

  list(name: string): string[] {
    const entries = this.text(name)?.split(',') ?? [];
    return entries.map((entry) => entry.trim()).filter((entry) => entry !== '');
  }

  integer(name: string, fallback: number, atLeast: number, atMost: number): number {
    const value = this.text(name);
    if (value === undefined) return fallback;
    const number = Number(value);
    if (Number.isInteger(number) && number >= atLeast && number <= atMost) return number;
    return this.refuse(name, value, `a whole number from ${atLeast} to ${atMost}`, fallback);
  }

  boolean(name: string, fallback: boolean): boolean {
    const value = this.text(name);
    if (value === undefined) return fallback;
    if (['true', '1', 'yes'].includes(value)) return true;
    if (['false', '0', 'no'].includes(value)) return false;
    return this.refuse(name, value, 'true or false', fallback);
  }

  choice<T extends string>(name: string, values: readonly T[], fallback: T): T {
    const value = this.text(name);
    if (value === undefined) return fallback;
    const found = values.find((candidate) => candidate === value);
    return found ?? this.refuse(name, value, `one of ${values.join(', ')}`, fallback);
  }

  refuse<T>(name: string, value: string, expected: string, fallback: T): T {
    this.problems.push({
      category: 'type',
      message: `environment variable ${name} is "${value}", expected ${expected}`,
    });
    return fallback;
  }

  /** Throws `SettingsError` with all errors, including unknown variables with this project's prefix. */
  check(): void {
    const known = Object.keys(ENVIRONMENT_VARIABLES);
    for (const name of Object.keys(this.env)) {
      if (!name.startsWith('UIRL_') || known.includes(withoutFile(name))) continue;
      const message = `unknown environment variable ${name}.${didYouMean(name, known) || ' See --help for all'}`;
      this.problems.push({ category: 'unknown', message });
    }
    this.throwProblems();
  }

  /** Throws `SettingsError` with all errors of the variables read so far. */
  throwProblems(): void {
    if (this.problems.length > 0) throw new SettingsError(this.problems);
  }
}

function textOf(written: string | undefined): string | undefined {
  const text = written?.trim();
  return text === '' ? undefined : text;
}

/** The variable that `<name>_FILE` stands for, if it may be a file. */
function withoutFile(name: string): string {
  const meant = name.endsWith(FILE) ? name.slice(0, -FILE.length) : name;
  return mayBeFile(meant) ? meant : name;
}
