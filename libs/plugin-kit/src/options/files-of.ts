import { isRecord } from '../show';
import { choiceKey } from './choice-key';
import type { ComponentCatalogue } from './complete';
import { describeOptions } from './describe';
import { isFileAddress } from './file-values';
import type { FileNote, OptionInfo, OptionsClass } from './types';

/** A file that options name. */
export interface NamedFile {
  /** Path of the option: `tasks[0].path`. */
  option: string;
  /** Help of the option. */
  doc: string;
  kind: FileNote['kind'];
  /** A path, or an address. */
  value: string;
  /** Whether it is an address, which is valid on every machine. */
  isAddress: boolean;
  /** Replaces the value. */
  replace: (value: string) => void;
}

/** The files that complete options name, including those of groups and of chosen components. */
export function filesOf(
  type: OptionsClass,
  options: object,
  components: Pick<ComponentCatalogue, 'optionsClass'>,
  path = '',
): NamedFile[] {
  const holder = options as Record<string, unknown>;
  return describeOptions(type).flatMap((info) => {
    const option = path === '' ? info.name : `${path}.${info.name}`;
    const value = holder[info.name];
    if (value === undefined || value === null) return [];
    if (info.group !== undefined) return filesOf(info.group, value, components, option);
    if (info.choice !== undefined) return filesOfChoice(info.choice.kind, value, components, option);
    return info.file === undefined ? [] : namedFiles(info, info.file, holder, option);
  });
}

function filesOfChoice(
  kind: NonNullable<OptionInfo['choice']>['kind'],
  value: unknown,
  components: Pick<ComponentCatalogue, 'optionsClass'>,
  option: string,
): NamedFile[] {
  if (Array.isArray(value)) {
    return value.flatMap((each, index) => filesOfChoice(kind, each, components, `${option}[${index}]`));
  }
  const name = isRecord(value) ? value[choiceKey(kind)] : undefined;
  if (typeof name !== 'string') return [];
  return filesOf(components.optionsClass(kind, name), value as object, components, option);
}

function namedFiles(
  { name, doc }: OptionInfo,
  file: FileNote,
  holder: Record<string, unknown>,
  option: string,
): NamedFile[] {
  const one = (value: string, at: string, replace: NamedFile['replace']): NamedFile => ({
    ...{ option: at, doc, kind: file.kind, value, replace },
    isAddress: isFileAddress(value, file),
  });
  if (!file.many) return [one(holder[name] as string, option, (value) => (holder[name] = value))];
  const list = holder[name] as string[];
  return list.map((each, index) => one(each, `${option}[${index}]`, (value) => (list[index] = value)));
}
