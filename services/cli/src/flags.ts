import { InvalidArgumentError } from 'commander';

export function wholeNumber(text: string): number {
  return checked(text, (value) => Number.isInteger(value) && value >= 0, 'a whole number');
}

export function positiveInteger(text: string): number {
  return checked(text, (value) => Number.isInteger(value) && value >= 1, 'a whole number of at least 1');
}

export function positiveNumber(text: string): number {
  return checked(text, (value) => value > 0, 'a number above 0');
}

export function nonNegativeNumber(text: string): number {
  return checked(text, (value) => value >= 0, 'a number of at least 0');
}

export function shareOfOne(text: string): number {
  return checked(text, (value) => value > 0 && value <= 1, 'a number above 0, at most 1');
}

export function anyNumber(text: string): number {
  return checked(text, () => true, 'a number');
}

/** `20` or `20-40`, both included. */
export function wholeRange(text: string): [number, number] {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text.trim()) ?? [];
  if (first !== undefined && Number(first) <= Number(last)) return [Number(first), Number(last)];
  throw new InvalidArgumentError(`expected a whole number, or a range such as 20-40, found "${text}"`);
}

function checked(text: string, fits: (value: number) => boolean, expected: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value) || !fits(value)) {
    throw new InvalidArgumentError(`expected ${expected}, found "${text}"`);
  }
  return value;
}

const UNITS: Readonly<Record<string, number>> = {
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
};

/** A size such as 2GB, in bytes. */
export function byteSize(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*([KMG]i?B)$/i.exec(text.trim()) ?? [];
  const bytes = Math.floor(Number(number) * (UNITS[unit?.toUpperCase() ?? ''] ?? Number.NaN));
  if (bytes >= 1) return bytes;
  throw new InvalidArgumentError(`expected a size such as 2GB or 500MB, found "${text}"`);
}
