import { IsInt, Max, Min, ValidateBy } from 'class-validator';

/** The largest whole number that fits into 32 bits with a sign, in which counts are stored and tokens computed with. */
const MAX_INT32 = 2 ** 31 - 1;

/** Longest text of a screen, in characters. */
export const MAX_SCREEN_TEXT = 200_000;
/** Characters of the regular expression that an answer must match, on its way to the learner and from there to samplers. */
export const MAX_GRAMMAR = 65_536;

/** A whole number from 0 on that fits into 32 bits. */
export function Count(): PropertyDecorator {
  return (target, property) => {
    for (const check of [IsInt(), Min(0), Max(MAX_INT32)]) check(target, property);
  };
}

/** An array of token ids: whole numbers from 0 on that fit into 32 bits. */
export function TokenIds(): PropertyDecorator {
  return each(
    'isTokenIds',
    'an array of token ids',
    (id) => Number.isInteger(id) && id >= 0 && id <= MAX_INT32,
  );
}

/** An array of texts as token ids. */
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

/** Name → number; null where there is none, as JSON writes one that is not finite. */
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

/** One loop over the array: thousands of tokens are checked with every turn. */
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
