import { KEY_NAMES, MODIFIERS, type ActionName } from './action';
import { ACTION_NAMES, MAX_COORDINATE, MAX_KEYS, MAX_VIA, SCHEMA, type FieldRule } from './schema';

/** A part of JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The parameters of an action besides its name, as a tool's `inputSchema`. For an action with two variants, the keys
 * of both.
 */
export function actionParameters(name: ActionName): JsonSchema {
  const variants = SCHEMA[name];
  const fields = Object.assign(
    {},
    ...variants.map(({ fields: each }) => each),
  ) as (typeof variants)[0]['fields'];
  const required = Object.keys(fields).filter((key) =>
    variants.every(({ fields: each }) => each[key]?.optional === false),
  );
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([key, { rule }]) => [key, ruleSchema(rule)])),
    required,
    additionalProperties: false,
  };
}

/** The purpose of an action. */
export function actionMeaning(name: ActionName): string {
  return SCHEMA[name].map(({ meaning }) => meaning).join('; or ');
}

/** Any action of the vocabulary: its name in `action`, and its keys. */
export function actionSchema(): JsonSchema {
  const properties = ACTION_NAMES.map((name) => actionParameters(name).properties as object);
  return {
    title: 'Action',
    type: 'object',
    properties: {
      action: { type: 'string', enum: ACTION_NAMES, description: 'what is done' },
      ...(Object.assign({}, ...properties) as object),
    },
    required: ['action'],
    additionalProperties: false,
  };
}

const POINT: JsonSchema = {
  type: 'array',
  items: { type: 'integer', minimum: 0, maximum: MAX_COORDINATE },
  minItems: 2,
  maxItems: 2,
};
const KEY: JsonSchema = { type: 'string', description: `a character, or one of ${KEY_NAMES.join(', ')}` };

function ruleSchema(rule: FieldRule): JsonSchema {
  switch (rule.type) {
    case 'integer':
    case 'number':
      return { type: rule.type, minimum: rule.min, maximum: rule.max };
    case 'string':
      return { type: 'string', maxLength: rule.maxLength };
    case 'boolean':
      return { type: 'boolean' };
    case 'one-of':
      return { type: 'string', enum: rule.values };
    case 'point':
      return POINT;
    case 'path':
      return { type: 'array', items: POINT, minItems: 1, maxItems: MAX_VIA };
    case 'key':
      return KEY;
    case 'keys':
      return {
        type: 'array',
        items: KEY,
        minItems: 1,
        maxItems: MAX_KEYS,
      };
    case 'modifiers':
      return {
        type: 'array',
        items: { type: 'string', enum: MODIFIERS, description: 'a key held during the action' },
        minItems: 1,
        maxItems: MODIFIERS.length,
      };
  }
}
