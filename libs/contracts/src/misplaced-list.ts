import { getMetadataStorage } from 'class-validator';

type Class = new () => object;

/** Nested objects of a class: name → whether the field is a list of them. */
const known = new Map<unknown, ReadonlyMap<string, boolean>>();

/**
 * The first list in the place of a nested object: `turns.0`, `request`; undefined if there is none. class-transformer
 * makes a list of instances from it, which class-validator accepts.
 *
 * @param value an instance whose classes have types (`emitDecoratorMetadata`)
 */
export function misplacedList(value: object): string | undefined {
  for (const [name, isList] of nestedIn(value.constructor as Class)) {
    const part = (value as Record<string, unknown>)[name];
    const items = isList && Array.isArray(part) ? [...part.entries()] : [[undefined, part] as const];
    for (const [index, item] of items) {
      const path = index === undefined ? name : `${name}.${index}`;
      if (Array.isArray(item)) return path;
      const inside = typeof item === 'object' && item !== null ? misplacedList(item) : undefined;
      if (inside !== undefined) return `${path}.${inside}`;
    }
  }
  return undefined;
}

function nestedIn(schema: Class): ReadonlyMap<string, boolean> {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const nested = new Map<string, boolean>();
  for (const { type, propertyName } of getMetadataStorage().getTargetValidationMetadatas(
    schema,
    '',
    false,
    false,
  )) {
    if (type !== 'nestedValidation') continue;
    const declared: unknown = Reflect.getMetadata('design:type', schema.prototype as object, propertyName);
    // Of a union, the type is not known.
    if (declared !== Object && declared !== undefined) nested.set(propertyName, declared === Array);
  }
  known.set(schema, nested);
  return nested;
}
