/** Limits the error text, since an error page may be large. */
const MAX_TEXTS = 64;
const MAX_CHARACTERS = 4_000;
const MAX_DEPTH = 8;
/** Fields that explain an error in the servers' different formats. Others, such as `input`, repeat the request. */
const EXPLAINS = new Set([
  'error',
  'errors',
  'message',
  'msg',
  'detail',
  'details',
  'description',
  'loc',
  'param',
  'code',
  'metadata',
  'raw',
  'innererror',
]);

/** The error of an endpoint for a rejected request. */
export interface ServerError {
  message: string;
  /** The invalid request field, if the server names it. */
  param: string | undefined;
  code: unknown;
  type: unknown;
}

/**
 * The error in a response body in any of these formats: OpenAI's `{error: {message, param}}`, vLLM's and SGLang's
 * `{object: 'error', message}`, FastAPI's `{detail: [{loc, msg}]}`, Google's list, plain text, or a nested error.
 */
export function serverError(body: object): ServerError {
  const texts: string[] = [];
  collect(body, texts, 0);
  const { error = body } = (Array.isArray(body) ? (body[0] ?? {}) : body) as Record<string, unknown>;
  const { message, code, type } = (typeof error === 'object' ? (error ?? {}) : {}) as Record<string, unknown>;
  const isWhole = typeof message === 'string' && texts.filter((text) => text.includes(' ')).length <= 1;
  const said = isWhole ? message : [...new Set(texts)].join(' ') || JSON.stringify(body);
  return { message: said.slice(0, MAX_CHARACTERS), param: parameterIn(body, 0), code, type };
}

/** The texts that explain the error, outermost first. */
function collect(value: unknown, texts: string[], depth: number): void {
  if (texts.length >= MAX_TEXTS || depth > MAX_DEPTH) return;
  if (typeof value === 'string') {
    const inner = parsed(value);
    if (inner === undefined) texts.push(value.slice(0, MAX_CHARACTERS));
    else collect(inner, texts, depth + 1);
  } else if (Array.isArray(value)) {
    for (const each of value) collect(each, texts, depth + 1);
  } else if (isObject(value)) {
    for (const [name, each] of Object.entries(value)) if (EXPLAINS.has(name)) collect(each, texts, depth + 1);
  }
}

/** The first `param`, or the last element of the first `loc`. */
function parameterIn(value: unknown, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return undefined;
  if (typeof value === 'string') {
    const inner = parsed(value);
    return inner === undefined ? undefined : parameterIn(inner, depth + 1);
  }
  if (!isObject(value)) return undefined;
  const { param, loc } = value;
  if (typeof param === 'string' && param !== '') return param.split('.').at(-1);
  if (Array.isArray(loc) && typeof loc.at(-1) === 'string') return loc.at(-1) as string;
  for (const [name, each] of Object.entries(value)) {
    if (!Array.isArray(value) && !EXPLAINS.has(name)) continue;
    const found = parameterIn(each, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function parsed(text: string): object | undefined {
  if (!/^\s*[{[]/.test(text) || text.length > MAX_CHARACTERS) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
