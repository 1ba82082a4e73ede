import type { CoordinateSpace } from './coordinates';

/** A dialect and its coordinates, as `model.action_format` has them. */
interface ActionFormat {
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

/** The `model.action_format` that a family was trained on, or null where there is none. */
export function formatOfModelType(modelType: string): ActionFormat | null {
  return Object.hasOwn(FORMATS, modelType) ? FORMATS[modelType] : null;
}
