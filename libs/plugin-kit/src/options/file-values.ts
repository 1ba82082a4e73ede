import { parseCheckpointName, parseSharedFileName } from '@ui-rl/contracts';
import type { FileNote } from './types';

const ADDRESS = /^uirl:\/\//;

/** Describes the valid values of an option that names files. */
export function expectedFile({ kind, many, checkpoints }: FileNote): string {
  const one = many ? `a list, each entry the path of a ${kind}` : `the path of a ${kind}`;
  return checkpoints ? `${one}, or an address such as uirl://<run>/sampler_weights/000080` : one;
}

/** Whether a value is valid for such an option: a path, or an address of the right kind. */
export function fitsFile(value: unknown, file: FileNote): boolean {
  if (file.many)
    return Array.isArray(value) && value.every((each) => fitsFile(each, { ...file, many: false }));
  if (typeof value !== 'string' || value === '') return false;
  return !ADDRESS.test(value) || isFileAddress(value, file);
}

/** Whether a value names a file independently of the machine: a shared file, or a checkpoint. */
export function isFileAddress(value: string, { kind, checkpoints }: FileNote): boolean {
  if (checkpoints && parseCheckpointName(value) !== undefined) return true;
  return parseSharedFileName(value)?.kind === kind;
}
