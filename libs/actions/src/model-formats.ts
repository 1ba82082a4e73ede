import type { CoordinateSpace } from './coordinates';

/** An action format and its coordinates, as in `model.action_format`. */
export interface ActionFormat {
  name: string;
  coordinates: CoordinateSpace;
}

/** The action formats on which model families were trained, by `model_type`. */
const FORMATS: Readonly<Record<string, ActionFormat>> = {
  qwen2_vl: { name: 'qwen_computer_use', coordinates: 'relative_1000' },
  qwen2_5_vl: { name: 'qwen_computer_use', coordinates: 'model_image' },
  qwen3_vl: { name: 'qwen_computer_use', coordinates: 'relative_1000' },
  qwen3_vl_moe: { name: 'qwen_computer_use', coordinates: 'relative_1000' },
};

/** Published models by prefix of their names: `model_type` does not determine their training alone. */
const NAMED: readonly (readonly [RegExp, ActionFormat])[] = [
  [/^ui-tars-1\.5\b/i, { name: 'ui_tars_1_5', coordinates: 'model_image' }],
  [/^ui-tars\b/i, { name: 'ui_tars', coordinates: 'relative_1000' }],
  [/^qwen3-vl\b/i, FORMATS.qwen3_vl],
  [/^qwen2\.5-vl\b/i, FORMATS.qwen2_5_vl],
];

/** On a phone, use the model's phone tool if it has one. */
const ON_PHONES: Readonly<Record<string, string>> = { qwen_computer_use: 'qwen_mobile_use' };

/** The `model.action_format` on which a family was trained, or null if there is none. */
export function formatOfModelType(modelType: string, onPhone = false): ActionFormat | null {
  return Object.hasOwn(FORMATS, modelType) ? placed(FORMATS[modelType], onPhone) : null;
}

/**
 * The same for a published model, or null if its name does not determine it.
 * @param name `organisation/name`, or its last part
 */
export function formatOfModelName(name: string, onPhone = false): ActionFormat | null {
  const [last] = name.split('/').at(-1)!.split('@');
  const found = NAMED.find(([begins]) => begins.test(last))?.[1];
  return found === undefined ? null : placed(found, onPhone);
}

function placed({ name, coordinates }: ActionFormat, onPhone: boolean): ActionFormat {
  return { name: onPhone && Object.hasOwn(ON_PHONES, name) ? ON_PHONES[name] : name, coordinates };
}
