import { didYouMean } from '@ui-rl/plugin-kit';
import { ENVIRONMENT_VARIABLES } from './environment-variables';
import { SettingsError, type SettingsProblem } from './errors';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads typed values from environment variables and collects what is wrong with them. Empty counts as unset. */
export class EnvironmentReader {
  readonly problems: SettingsProblem[] = [];

  constructor(private readonly env: Environment) {}

  text(name: string): string | undefined {
    const value = this.env[name]?.trim();
    return value === '' ? undefined : value;
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

  /** Throws `SettingsError` with everything that was wrong, variables under this project's prefix that nobody reads too. */
  check(): void {
    const known = Object.keys(ENVIRONMENT_VARIABLES);
    for (const name of Object.keys(this.env)) {
      if (!name.startsWith('UIRL_') || known.includes(name)) continue;
      const message = `unknown environment variable ${name}.${didYouMean(name, known) || ' See --help for all'}`;
      this.problems.push({ category: 'unknown', message });
    }
    if (this.problems.length > 0) throw new SettingsError(this.problems);
  }
}
