/** A floating-point attribute; plain numbers are integer attributes. */
export class FloatAttribute {
  constructor(readonly value: number) {}
}

/** Marks an attribute as floating point: `{ alpha: float(0.5) }`. */
export function float(value: number): FloatAttribute {
  return new FloatAttribute(value);
}

/** Attribute of a node: integer, integers, text, or `float(x)`. */
export type Attribute = number | readonly number[] | string | FloatAttribute;

export type Attributes = Readonly<Record<string, Attribute>>;
