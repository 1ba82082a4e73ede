import type { CoordinateSpace } from './coordinates';

/** A dialect and its coordinates, as `model.action_format` has them. */
export interface ActionFormat {
  name: string;
  coordinates: CoordinateSpace;
}

/** What families of models were trained to answer with, by `model_type`. */
const FORMATS: Readonly<Record<string, ActionFormat>> = {
  qwen2_vl: { name: 'qwen_computer_use', coordinates: 'relative_1000' },
  qwen2_5_vl: { name: 'qwen_computer_use', coordinates: 'model_image' },
  qwen3_vl: { name: 'qwen_computer_use', coordinates: 'relative_1000' },
  qwen3_vl_moe: { name: 'qwen_computer_use', coordinates: 'relative_1000' },
};

/** Published models by how their names begin: what they are trained on is not all that their `model_type` says. */
const NAMED: readonly (readonly [RegExp, ActionFormat])[] = [
  [/^ui-tars-1\.5\b/i, { name: 'ui_tars_1_5', coordinates: 'model_image' }],
  [/^ui-tars\b/i, { name: 'ui_tars', coordinates: 'relative_1000' }],
  [/^qwen3-vl\b/i, FORMATS.qwen3_vl],
  [/^qwen2\.5-vl\b/i, FORMATS.qwen2_5_vl],
];

/** On a phone, a model that has a tool for it is asked in that one. */
const ON_PHONES: Readonly<Record<string, string>> = { qwen_computer_use: 'qwen_mobile_use' };

/** The `model.action_format` that a family was trained on, or null where there is none. */
export function formatOfModelType(modelType: string, onPhone = false): ActionFormat | null {
  return Object.hasOwn(FORMATS, modelType) ? placed(FORMATS[modelType], onPhone) : null;
}

/**
 * The same for a model as it was published, or null where its name tells nothing.
 * @param name `organisation/name`, or the last part of that
 */
export function formatOfModelName(name: string, onPhone = false): ActionFormat | null {
  const [last] = name.split('/').at(-1)!.split('@');
  const found = NAMED.find(([begins]) => begins.test(last))?.[1];
  return found === undefined ? null : placed(found, onPhone);
}

function placed({ name, coordinates }: ActionFormat, onPhone: boolean): ActionFormat {
  return { name: onPhone && Object.hasOwn(ON_PHONES, name) ? ON_PHONES[name] : name, coordinates };
}
