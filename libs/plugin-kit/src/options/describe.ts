import { choiceKey } from './choice-key';
import { notesOf, type PropertyNote } from './decorators';
import { expectedFile } from './file-values';
import type { ChoiceNote, OptionInfo, OptionsClass } from './types';
import { choicesOf, isOptional, shapeOf, validatorsOf } from './validators';

const described = new WeakMap<OptionsClass, readonly OptionInfo[]>();

/**
 * The options of a class in order of declaration, from its validators, metadata and initializers. Recognizes classes
 * of a plugin that has its own copies of class-validator and of this package.
 */
export function describeOptions(type: OptionsClass): readonly OptionInfo[] {
  const known = described.get(type);
  if (known !== undefined) return known;
  const infos = readOptions(type);
  described.set(type, infos);
  return infos;
}

function readOptions(type: OptionsClass): OptionInfo[] {
  const notes = notesOf(type);
  const validators = validatorsOf(type);
  const defaults = new type() as Record<string, unknown>;
  const names = new Set([...notes.keys(), ...validators.keys(), ...Object.keys(defaults)]);
  return [...names].map((name) => {
    const note = notes.get(name) ?? {};
    const checks = validators.get(name) ?? [];
    const shape = shapeFrom(note) ?? shapeOf(checks);
    const absent = { ...defaults, [name]: undefined };
    const optional = note.group !== undefined || isOptional(checks, absent);
    const choices = choicesOf(checks);
    return {
      name,
      doc: note.doc ?? '',
      ...shape,
      ...(note.fits === undefined ? {} : note.fits),
      default: note.group === undefined ? defaults[name] : undefined,
      required: !optional && defaults[name] === undefined,
      choices,
      ...(note.secret === true ? { secret: true } : {}),
      needs: note.needs,
      ...(note.group === undefined ? {} : { group: note.group() }),
      choice: note.choice,
      file: note.file,
    };
  });
}

function shapeFrom({ group, choice, file }: PropertyNote): Pick<OptionInfo, 'type' | 'expected'> | undefined {
  if (group !== undefined) return { type: 'group', expected: 'a group of options' };
  if (file !== undefined) return { type: file.many ? 'list' : file.kind, expected: expectedFile(file) };
  return choice === undefined ? undefined : { type: 'choice', expected: expectedOfChoice(choice) };
}

function expectedOfChoice({ kind, many }: ChoiceNote): string {
  const article = /^[aeiou]/.test(kind) ? 'an' : 'a';
  const one = `the name of ${article} ${kind}, or an object with ${choiceKey(kind)} and its options`;
  return many ? `${one}, or a list of such` : one;
}
