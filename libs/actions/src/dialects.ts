import type { Dialect } from './dialect';
import { jsonDialect } from './json-dialect';

/** Every dialect by its name, as `model.action_format` chooses it. */
export const dialects: Readonly<Record<string, Dialect>> = { json: jsonDialect };
