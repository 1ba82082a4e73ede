import type { ModelFolder } from '../folder';
import type { FloatTensor } from '../weights/safetensors';
import type { LoadedAdapter } from './adapter';
import { loraName, weightName, type LoraModule } from './plan';

/** One layer's place in the matrices of its stack; a single layer is a stack of one. */
interface StackPlace {
  layer: number;
  layers: number;
}

/**
 * W + scale · BA for a weight [out, in], A [rank, in], B [out, rank] (LoRA, arXiv:2106.09685, section 4.1); modifies
 * `weight`. Matrices of a stack are laid out as in `loraParameters`.
 */
function addProduct(
  weight: Float32Array,
  a: FloatTensor,
  b: FloatTensor,
  scale: number,
  { layer, layers }: StackPlace,
): void {
  const [columns, inFeatures] = a.shape;
  const [outFeatures] = b.shape;
  const rank = columns / layers;
  const row = new Float64Array(inFeatures);
  for (let out = 0; out < outFeatures; out += 1) {
    row.fill(0);
    for (let r = 0; r < rank; r += 1) {
      const factor = scale * b.data[out * columns + r * layers + layer];
      const from = (layer * rank + r) * inFeatures;
      for (let i = 0; i < inFeatures; i += 1) row[i] += factor * a.data[from + i];
    }
    for (let i = 0; i < inFeatures; i += 1) weight[out * inFeatures + i] += row[i];
  }
}

function addAdapter(
  weight: Float32Array,
  { key, scale, stack }: LoraModule,
  tensors: LoadedAdapter['tensors'],
): void {
  const [a, b] = [tensors.get(loraName(key, 'A'))!, tensors.get(loraName(key, 'B'))!];
  const layers = stack?.count ?? 1;
  const size = weight.length / layers;
  for (let layer = 0; layer < layers; layer += 1) {
    addProduct(weight.subarray(layer * size, (layer + 1) * size), a, b, scale, { layer, layers });
  }
}

/** All weights of a model in float32, with an adapter merged into the layers that it adapts. */
export async function mergeAdapter(
  { family, weights }: Pick<ModelFolder, 'family' | 'weights'>,
  { plan, tensors }: LoadedAdapter,
): Promise<Map<string, FloatTensor>> {
  const adapted = new Map(plan.modules.map((module) => [weightName(module), module]));
  const merged = new Map<string, FloatTensor>();
  for (const { name, shape } of family.parameters()) {
    const data = await weights.read(name, shape);
    const module = adapted.get(name);
    if (module !== undefined) addAdapter(data, module, tensors);
    merged.set(name, { shape: [...shape], data });
  }
  return merged;
}
