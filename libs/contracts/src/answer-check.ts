import { IsIn, IsNumber, IsOptional, Min, ValidateBy } from 'class-validator';

/**
 * How an answer is compared, after normalization of case, white space, quotes and punctuation around it. `number` finds
 * the only number in the answer; `set` compares its items in any order; `regex` searches with a regular expression.
 */
export const ANSWER_OPERATORS = ['equals', 'contains', 'one_of', 'number', 'set', 'regex'] as const;
export type AnswerOperator = (typeof ANSWER_OPERATORS)[number];
/** Longest list of accepted answers or items. */
const MOST_ITEMS = 1_000;

/** The answer with which the agent finishes: the message of its last action. */
export class AnswerCheck {
  @IsIn(['answer'])
  kind: 'answer';

  /** Default: `equals`. */
  @IsOptional()
  @IsIn(ANSWER_OPERATORS)
  operator?: AnswerOperator;

  /** A text; a number for `number`; a list of texts for `one_of` and `set`. */
  @IsAnswer()
  value: string | number | string[];

  /** Largest difference from `value`, for `number`. Default: 0. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  within?: number;
}

const ANSWER_VALUES: Readonly<Record<AnswerOperator, string>> = {
  equals: 'a text',
  contains: 'a text',
  number: 'a number',
  one_of: `a list of 1 to ${MOST_ITEMS} texts`,
  set: `a list of 1 to ${MOST_ITEMS} texts`,
  regex: 'a regular expression of at most 1000 characters',
};

function IsAnswer(): PropertyDecorator {
  return ValidateBy({
    name: 'isAnswer',
    validator: {
      validate: (value: unknown, args) =>
        isAnswerFor((args!.object as AnswerCheck).operator ?? 'equals', value),
      defaultMessage: (args) => {
        const { operator = 'equals' } = args!.object as AnswerCheck;
        return `$property must be ${ANSWER_VALUES[operator]} for operator ${operator}`;
      },
    },
  });
}

function isAnswerFor(operator: AnswerOperator, value: unknown): boolean {
  switch (operator) {
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    case 'one_of':
    case 'set':
      return Array.isArray(value) && value.length > 0 && value.length <= MOST_ITEMS && value.every(isText);
    case 'regex':
      return isText(value) && value.length <= 1_000 && isRegex(value);
    default:
      return isText(value);
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function isRegex(text: string): boolean {
  try {
    return new RegExp(text, 'iu') instanceof RegExp;
  } catch {
    return false;
  }
}
