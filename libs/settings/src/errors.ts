export type SettingsErrorCategory = 'unknown' | 'unsupported' | 'type' | 'missing' | 'conflict' | 'file';

export interface SettingsProblem {
  category: SettingsErrorCategory;
  message: string;
}

/** Root error of this lib: all problems at once, each with the option and where it was read. */
export class SettingsError extends Error {
  constructor(
    readonly problems: readonly SettingsProblem[],
    options?: ErrorOptions,
  ) {
    super(problems.map((problem) => problem.message).join('\n'), options);
    this.name = 'SettingsError';
  }

  get category(): SettingsErrorCategory {
    return this.problems[0]?.category ?? 'file';
  }
}

export function settingsError(
  category: SettingsErrorCategory,
  message: string,
  options?: ErrorOptions,
): SettingsError {
  return new SettingsError([{ category, message }], options);
}
