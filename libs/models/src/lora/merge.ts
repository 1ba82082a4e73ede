import type { ModelFolder } from '../folder';
import type { FloatTensor } from '../weights/safetensors';
import type { LoadedAdapter } from './adapter';
import { loraName } from './plan';

/** W + scale · BA for a weight [out, in], A [rank, in], B [out, rank] (LoRA, arXiv:2106.09685, section 4.1); changes `weight`. */
function addProduct(weight: Float32Array, a: FloatTensor, b: FloatTensor, scale: number): void {
  const [rank, inFeatures] = a.shape;
  const [outFeatures] = b.shape;
  const row = new Float64Array(inFeatures);
  for (let out = 0; out < outFeatures; out += 1) {
    row.fill(0);
    for (let r = 0; r < rank; r += 1) {
      const factor = scale * b.data[out * rank + r];
      for (let i = 0; i < inFeatures; i += 1) row[i] += factor * a.data[r * inFeatures + i];
    }
    for (let i = 0; i < inFeatures; i += 1) weight[out * inFeatures + i] += row[i];
  }
}

/** All weights of a model in float32 with an adapter merged into the layers it adapts. */
export async function mergeAdapter(
  { family, weights }: Pick<ModelFolder, 'family' | 'weights'>,
  { plan, tensors }: LoadedAdapter,
): Promise<Map<string, FloatTensor>> {
  const adapted = new Map(plan.modules.map(({ name }) => [`${name}.weight`, name]));
  const merged = new Map<string, FloatTensor>();
  for (const { name, shape } of family.parameters()) {
    const data = await weights.read(name, shape);
    const module = adapted.get(name);
    if (module !== undefined) {
      addProduct(data, tensors.get(loraName(module, 'A'))!, tensors.get(loraName(module, 'B'))!, plan.scale);
    }
    merged.set(name, { shape: [...shape], data });
  }
  return merged;
}
