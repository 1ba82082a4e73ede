import { Transform } from 'class-transformer';
import {
  IsDefined,
  IsIn,
  IsNotEmpty,
  IsOptional,
  IsString,
  Matches,
  MaxLength,
  ValidateBy,
  ValidateIf,
} from 'class-validator';
import { AnswerCheck } from './answer-check';
import { Count } from './limits';
import { toInstance } from './to-instance';

/**
 * How a value is compared. `contains` looks for a part of a text or an element of a list; `matches` compares a whole
 * text with a pattern in which `*` matches anything; `at_least` and `at_most` compare numbers; `exists` with `true`
 * or `false` only tests whether there is a value.
 */
export const CHECK_OPERATORS = [
  'equals',
  'not_equals',
  'contains',
  'not_contains',
  'matches',
  'at_least',
  'at_most',
  'exists',
] as const;
export type CheckOperator = (typeof CHECK_OPERATORS)[number];

const TEXT_OPERATORS = ['equals', 'not_equals', 'contains', 'not_contains', 'matches'] as const;

/** The property of an element that a check examines. */
export const ELEMENT_PROPERTIES = [
  'exists',
  'visible',
  'text',
  'value',
  'checked',
  'attribute',
  'count',
] as const;
export type ElementProperty = (typeof ELEMENT_PROPERTIES)[number];

export const STORAGES = ['local', 'session', 'cookie'] as const;

/** Rejects operands that cannot match any value when a check is read. */
export function fitsOperator(operator: unknown, value: unknown): boolean {
  switch (operator) {
    case 'exists':
      return value === undefined || typeof value === 'boolean';
    case 'at_least':
    case 'at_most':
      return typeof value === 'number';
    case 'matches':
      return typeof value === 'string';
    case 'contains':
    case 'not_contains':
      return value !== '';
    default:
      return true;
  }
}

/** One condition on the state that an environment reports when an episode ends. */
export class StateCheck {
  @IsOptional()
  @IsIn(['state'])
  kind?: 'state';

  /** Dotted path into the state: `settings.wifi`, `notes.0.text`. */
  @IsString()
  @IsNotEmpty()
  path: string;

  @IsIn(CHECK_OPERATORS)
  operator: CheckOperator;

  @IsDefined()
  @FitsOperator()
  value: unknown;
}

/** The address of the page at the end. */
export class UrlCheck {
  @IsIn(['url'])
  kind: 'url';

  @IsOptional()
  @IsIn(TEXT_OPERATORS)
  operator?: (typeof TEXT_OPERATORS)[number];

  /** A whole address for `equals` and `not_equals`; a pattern for `matches`. */
  @IsString()
  @IsNotEmpty()
  @IsAddress('equals')
  value: string;
}

/**
 * The text that a page shows at the end, including frames, shadow roots and fields. Any white space counts as one
 * space.
 */
export class TextCheck {
  @IsIn(['text'])
  kind: 'text';

  /** Default: `contains`. */
  @IsOptional()
  @IsIn(TEXT_OPERATORS)
  operator?: (typeof TEXT_OPERATORS)[number];

  @IsString()
  @IsNotEmpty()
  @Matches(/[^\s\u00ad\u200b\u2060\ufeff]/, { message: '$property must be a text that can be seen' })
  value: string;
}

/** Elements of a page. The check holds if one of the elements that the selector finds satisfies it. */
export class ElementCheck {
  @IsIn(['element'])
  kind: 'element';

  /** In Playwright's syntax: CSS, `text=…`, `role=…`, `xpath=…`. */
  @IsString()
  @IsNotEmpty()
  @MaxLength(2000)
  selector: string;

  /**
   * Default: `exists`. `text` and `value` are texts, `count` is a number, `exists`, `visible` and `checked` are
   * `true` or `false`.
   */
  @IsOptional()
  @IsIn(ELEMENT_PROPERTIES)
  property?: ElementProperty;

  /** Name of the attribute, for `property: attribute`. */
  @ValidateIf(({ property, attribute }: ElementCheck) => property === 'attribute' || attribute !== undefined)
  @IsString()
  @IsNotEmpty()
  attribute?: string;

  /** Default: `equals`. */
  @IsOptional()
  @IsIn(CHECK_OPERATORS)
  operator?: CheckOperator;

  /** Default: `true`, if the property is `exists`, `visible` or `checked`. */
  @FitsProperty()
  value?: unknown;
}

/** A value that a page has stored. It is compared inside the browser environment and never reported. */
export class StorageCheck {
  @IsIn(['storage'])
  kind: 'storage';

  @IsIn(STORAGES)
  storage: (typeof STORAGES)[number];

  /** Its key, or the name of the cookie. */
  @IsString()
  @IsNotEmpty()
  key: string;

  /** Dotted path into the stored value, which must be JSON. */
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  path?: string;

  /** Default: `exists` without a value, else `equals`. */
  @IsOptional()
  @IsIn(CHECK_OPERATORS)
  operator?: CheckOperator;

  @ValidateIf(({ operator = 'exists', value }: StorageCheck) => value !== undefined || operator !== 'exists')
  @IsDefined()
  @FitsOperator()
  value?: unknown;
}

/** Allowed requests that a page made since its first frame. */
export class RequestCheck {
  @IsIn(['request'])
  kind: 'request';

  /** `POST`; default: any. */
  @IsOptional()
  @Matches(/^[A-Z]+$/, { message: '$property must be a method in capitals, such as POST' })
  method?: string;

  /** The whole address; `*` matches anything. */
  @IsString()
  @IsNotEmpty()
  @MaxLength(2000)
  @IsAddress('matches')
  url: string;

  /** A text that the body contains; or its fields, if it is JSON or a form. */
  @IsOptional()
  @IsBody()
  body?: string | Record<string, unknown>;

  /** Minimum number of requests. Default: 1; 0 if `at_most` is given. */
  @IsOptional()
  @Count()
  at_least?: number;

  /** Maximum number of requests; 0 if there must be none. */
  @IsOptional()
  @Count()
  at_most?: number;
}

/** A file that a page has downloaded, in an episode whose task allows downloads. */
export class DownloadCheck {
  @IsIn(['download'])
  kind: 'download';

  /** Its name, as the page or its server gives it; `*` matches anything: `report-*.csv`. */
  @IsString()
  @IsNotEmpty()
  @MaxLength(200)
  name: string;

  /** Default: `exists` without a value, else `equals`. */
  @IsOptional()
  @IsIn([...TEXT_OPERATORS, 'exists'])
  operator?: (typeof TEXT_OPERATORS)[number] | 'exists';

  /** Compared with the content as text in UTF-8, in which each line break is one `\n`. */
  @ValidateIf(({ operator = 'exists', value }: DownloadCheck) => value !== undefined || operator !== 'exists')
  @FitsDownload()
  value?: string | boolean;
}

/** The value of an expression in the page's own window. If it throws, the check fails. */
export class ExpressionCheck {
  @IsIn(['expression'])
  kind: 'expression';

  /** JavaScript; a promise is awaited: `window.app.cart.length`. */
  @IsString()
  @IsNotEmpty()
  @MaxLength(10_000)
  expression: string;

  /** Default: `equals`. */
  @IsOptional()
  @IsIn(CHECK_OPERATORS)
  operator?: CheckOperator;

  /** As JSON. Default: `true`. */
  @IsOptional()
  @FitsOperator()
  value?: unknown;
}

const CHECK_CLASSES = {
  state: StateCheck,
  url: UrlCheck,
  text: TextCheck,
  element: ElementCheck,
  storage: StorageCheck,
  request: RequestCheck,
  expression: ExpressionCheck,
  download: DownloadCheck,
  answer: AnswerCheck,
} as const;

export const CHECK_KINDS = Object.keys(CHECK_CLASSES) as (keyof typeof CHECK_CLASSES)[];

/** A condition that must hold when an episode ends. Without `kind`, it refers to the state. */
export type Check = InstanceType<(typeof CHECK_CLASSES)[keyof typeof CHECK_CLASSES]>;

/** A condition that the environment itself evaluates, because only it has access to the page. */
export type PageCheck = Exclude<Check, StateCheck | AnswerCheck>;

export function isPageCheck(check: Check): check is PageCheck {
  return check.kind !== undefined && check.kind !== 'state' && check.kind !== 'answer';
}

/** An environment's result of a check. */
export interface CheckResult {
  holds: boolean;
  /** In a few words, without potential secrets. */
  found: string;
}

/**
 * Key of the final state under which an environment reports the results of page checks: index among the checks of the
 * task → result.
 */
export const CHECK_RESULTS = '$checks';

/** A check of an unknown kind. */
class UnknownCheck {
  @IsIn(CHECK_KINDS, { message: `kind must be one of ${CHECK_KINDS.join(', ')}` })
  kind: string;
}

/** Parses a list of checks, each with the class of its kind; invalid ones become validation errors. */
export function AsChecks(): PropertyDecorator {
  return Transform(({ value }) => (Array.isArray(value) ? value.map(asCheck) : (value as unknown)), {
    toClassOnly: true,
  });
}

function asCheck(plain: unknown): unknown {
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) return plain;
  const { kind = 'state' } = plain as { kind?: unknown };
  const known = typeof kind === 'string' && Object.hasOwn(CHECK_CLASSES, kind);
  if (!known) return Object.assign(new UnknownCheck(), { kind });
  return toInstance(CHECK_CLASSES[kind as keyof typeof CHECK_CLASSES] as new () => object, plain);
}

/** Operators for values of a type, besides `exists`. */
const BY_TYPE: Readonly<Record<'boolean' | 'number' | 'string', readonly CheckOperator[]>> = {
  boolean: ['equals', 'not_equals', 'exists'],
  number: ['equals', 'not_equals', 'at_least', 'at_most', 'exists'],
  string: [...TEXT_OPERATORS, 'exists'],
};

function FitsProperty(): PropertyDecorator {
  const typeOf = ({ property = 'exists' }: ElementCheck): 'boolean' | 'number' | 'string' => {
    if (property === 'count') return 'number';
    return ['text', 'value', 'attribute'].includes(property) ? 'string' : 'boolean';
  };
  return ValidateBy({
    name: 'fitsProperty',
    validator: {
      validate: (value: unknown, args) => {
        const check = args!.object as ElementCheck;
        if (check.operator === 'exists') return value === undefined || typeof value === 'boolean';
        const type = typeOf(check);
        const isOfType = typeof value === type || (value === undefined && type === 'boolean');
        return (
          isOfType &&
          BY_TYPE[type].includes(check.operator ?? 'equals') &&
          fitsOperator(check.operator, value)
        );
      },
      defaultMessage: (args) => {
        const check = args!.object as ElementCheck;
        const type = check.operator === 'exists' ? 'boolean' : typeOf(check);
        const wanted = { boolean: 'true or false', number: 'a number', string: 'a text' }[type];
        const operators = BY_TYPE[typeOf(check)].join(', ');
        const isFit = BY_TYPE[typeOf(check)].includes(check.operator ?? 'equals');
        const suffix = isFit ? '' : `, compared by ${operators}`;
        return `$property must be ${wanted} for property ${check.property ?? 'exists'}${suffix}`;
      },
    },
  });
}

function FitsOperator(): PropertyDecorator {
  const wanted: Partial<Record<CheckOperator, string>> = {
    exists: 'true or false',
    at_least: 'a number',
    at_most: 'a number',
    matches: 'a text',
    contains: 'a text that is not empty, or an element of a list',
    not_contains: 'a text that is not empty, or an element of a list',
  };
  return ValidateBy({
    name: 'fitsOperator',
    validator: {
      validate: (value: unknown, args) =>
        fitsOperator((args!.object as { operator?: CheckOperator }).operator, value),
      defaultMessage: (args) => {
        const { operator } = args!.object as { operator: CheckOperator };
        return `$property must be ${wanted[operator]} for operator ${operator}`;
      },
    },
  });
}

/** Only parts of a displayed address may be wildcards. */
function IsAddress(usual: CheckOperator): PropertyDecorator {
  return ValidateBy({
    name: 'isAddress',
    validator: {
      validate: (value: unknown, args) => {
        const { operator = usual } = args!.object as { operator?: CheckOperator };
        // Other validators verify that it is a non-empty text.
        if (typeof value !== 'string' || value === '') return true;
        if (operator === 'contains' || operator === 'not_contains') return value.trim() !== '';
        if (operator === 'matches' && value.includes('*')) return /^(\*|https?:|about:)/i.test(value);
        return /^(https?:\/\/|about:)/i.test(value.trim()) && URL.canParse(value);
      },
      defaultMessage: (args) => {
        const { operator = usual } = args!.object as { operator?: CheckOperator };
        const wanted =
          operator === 'matches'
            ? 'a whole address, or begin with *'
            : 'a whole address, such as https://shop.example/cart';
        return `$property must be ${wanted}`;
      },
    },
  });
}

function FitsDownload(): PropertyDecorator {
  const isContent = ({ operator }: DownloadCheck) => operator !== 'exists';
  return ValidateBy({
    name: 'fitsDownload',
    validator: {
      validate: (value: unknown, args) => {
        const check = args!.object as DownloadCheck;
        if (!isContent(check)) return typeof value === 'boolean';
        return typeof value === 'string' && fitsOperator(check.operator, value);
      },
      defaultMessage: (args) =>
        isContent(args!.object as DownloadCheck)
          ? '$property must be the text of a file, or a part of it that is not empty'
          : '$property must be true or false for operator exists',
    },
  });
}

function IsBody(): PropertyDecorator {
  return ValidateBy({
    name: 'isBody',
    validator: {
      validate: (value: unknown) =>
        (typeof value === 'string' && value !== '') ||
        (typeof value === 'object' && value !== null && !Array.isArray(value)),
      defaultMessage: () => '$property must be a text, or an object of fields',
    },
  });
}
