import { IsInt, Max, Min, ValidateBy } from 'class-validator';

/** The largest signed 32-bit integer, the storage type of counts and token ids. */
const MAX_INT32 = 2 ** 31 - 1;

/** Maximum length of a screen's text in characters. */
export const MAX_SCREEN_TEXT = 200_000;
/**
 * Maximum length in characters of the regular expression that an answer must match, on its way to the learner and to
 * samplers.
 */
export const MAX_GRAMMAR = 65_536;

/** A non-negative 32-bit integer. */
export function Count(): PropertyDecorator {
  return (target, property) => {
    for (const check of [IsInt(), Min(0), Max(MAX_INT32)]) check(target, property);
  };
}

/** An array of token ids: non-negative 32-bit integers. */
export function TokenIds(): PropertyDecorator {
  return each(
    'isTokenIds',
    'an array of token ids',
    (id) => Number.isInteger(id) && id >= 0 && id <= MAX_INT32,
  );
}

/** An array with the text of each token. */
export function TokenTexts(): PropertyDecorator {
  const isId = (id: unknown): boolean => typeof id === 'number' && Number.isInteger(id) && id >= 0;
  return ValidateBy({
    name: 'isTokenTexts',
    validator: {
      validate: (value: unknown) =>
        Array.isArray(value) && value.every((text) => Array.isArray(text) && text.every(isId)),
      defaultMessage: () => '$property must be an array of arrays of token ids',
    },
  });
}

/** An array of finite numbers. */
export function FiniteNumbers(): PropertyDecorator {
  return each('isFiniteNumbers', 'an array of finite numbers', Number.isFinite);
}

/** Name → number; null for a number that is not finite, as JSON encodes it. */
export function NumbersByName(): PropertyDecorator {
  return ValidateBy({
    name: 'isNumbersByName',
    validator: {
      validate: (value: unknown) =>
        typeof value === 'object' &&
        value !== null &&
        !Array.isArray(value) &&
        Object.values(value).every((part) => part === null || Number.isFinite(part)),
      defaultMessage: () => '$property must be an object of numbers',
    },
  });
}

/** Name → true or false. */
export function BooleansByName(): PropertyDecorator {
  return ValidateBy({
    name: 'isBooleansByName',
    validator: {
      validate: (value: unknown) =>
        typeof value === 'object' &&
        value !== null &&
        !Array.isArray(value) &&
        Object.values(value).every((part) => typeof part === 'boolean'),
      defaultMessage: () => '$property must be an object of true or false',
    },
  });
}

/** Validates the array in one loop: every turn has thousands of tokens. */
function each(name: string, expected: string, isRight: (part: number) => boolean): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value: unknown) =>
        Array.isArray(value) && value.every((part) => typeof part === 'number' && isRight(part)),
      defaultMessage: () => `$property must be ${expected}`,
    },
  });
}
