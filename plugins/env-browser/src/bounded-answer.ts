import { BrowserError } from './errors';

const MAX_CHARACTERS = 2 ** 20;
const MAX_DEPTH = 64;
const MAX_ERROR_CHARACTERS = 2_000;

/** The page's reply; exactly one field is set. */
export interface BoundedAnswer {
  value?: unknown;
  /** A number as text: JSON has no -0, no infinities and no large integers. */
  number?: string;
  /** Text of the error thrown by the page. */
  threw?: string;
  /** Why the value was not sent. */
  refused?: string;
}

/**
 * Copies a value inside the page before it is sent: a large value would block the connection of the whole browser. A
 * page can replace the functions called here, so everything they return is counted, too.
 */
const ANSWER = `async (ask) => {
  let room = ${MAX_CHARACTERS}, refused = '';
  const take = (characters) => {
    room -= characters;
    if (room < 0) refused = 'more than ${MAX_CHARACTERS} characters';
  };
  const copy = (value, depth) => {
    if (refused !== '') return;
    if (typeof value === 'function' || typeof value === 'symbol') return;
    if (typeof value === 'string') take(value.length + 2);
    else take(8);
    if (refused !== '') return;
    if (typeof value === 'bigint') return Number(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > ${MAX_DEPTH}) {
      refused = 'more than ${MAX_DEPTH} objects inside of each other';
      return;
    }
    if (Array.isArray(value)) {
      const list = [];
      for (let index = 0; index < value.length && refused === ''; index++) list[index] = copy(value[index], depth + 1);
      return list;
    }
    const copied = { __proto__: null };
    for (const key of Object.keys(value)) {
      take(key.length + 2);
      if (refused !== '') return;
      copied[key] = copy(value[key], depth + 1);
    }
    return copied;
  };
  try {
    const found = await ask();
    if (typeof found === 'number' || typeof found === 'bigint') {
      const number = found === 0 && 1 / Number(found) < 0 ? '-0' : \`\${found}\`;
      return { __proto__: null, number };
    }
    const value = copy(found, 1);
    return refused === '' ? { __proto__: null, value } : { __proto__: null, refused };
  } catch (error) {
    let threw = '';
    try {
      threw = (error instanceof Error ? error.stack : \`\${error}\`).slice(0, ${MAX_ERROR_CHARACTERS});
    } catch {}
    const isText = typeof threw === 'string' && threw.length <= ${MAX_ERROR_CHARACTERS};
    return { __proto__: null, threw: isText ? threw : 'an error that cannot be told' };
  }
}`;

/** An expression that evaluates to a `BoundedAnswer` for any value the page returns or throws. */
export function boundedExpression(expression: string): string {
  return `(${ANSWER})(async () => (${expression}\n))`;
}

/**
 * The value of a `BoundedAnswer`. Throws `BrowserError` with the page's error, or with the reason why its value was
 * not sent.
 */
export function answeredValue({ value, number, threw, refused }: BoundedAnswer): unknown {
  if (threw !== undefined) throw new BrowserError('page_error', `the page failed: ${threw}`);
  if (refused !== undefined) throw new BrowserError('page_error', `the page told ${refused}`);
  return number === undefined ? value : Number(number);
}
