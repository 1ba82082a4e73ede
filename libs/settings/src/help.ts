import { RUN_OPTIONS, type RunOption } from './options';

/** Every option of the run file with type, default and flags, as `--help` prints it. */
export function optionsHelp(): string {
  return RUN_OPTIONS.map(helpOf).join('\n');
}

function helpOf(option: RunOption): string {
  const flags = [option.path, ...(option.aliases ?? [])].map((name) => `--${name}`).join(', ');
  return `  ${flags}\n      ${option.description}\n      ${option.type.expected}${defaultOf(option)}`;
}

function defaultOf(option: RunOption): string {
  if (option.required === true) return '; required';
  return option.default === undefined ? '' : `; default ${JSON.stringify(option.default)}`;
}
