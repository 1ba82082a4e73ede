import { join } from 'node:path';
import { golden, goldenStep } from './golden';
import { isVariant, type Tell, type Variant } from './lines';
import { measure } from './measure';
import { isModel, makeModel, type ModelName } from './models';
import { probe } from './probe';

/** One measurement or check in its own process, since a driver may crash the process that loads it. */
export interface Part {
  name: string;
  /** its arguments, see `runPart` */
  args: readonly string[];
  /** time limit in seconds */
  limit: number;
  /** the model that it measures, which must be created first */
  model?: ModelName;
  variant?: Variant;
}

/** Families in the bundle. */
export const FAMILIES = ['qwen2-vl-b', 'smolvlm-a'] as const;

/** In order of importance. */
export function partsOf(quick: boolean): Part[] {
  const gpu = ['webgpu fp32', 'webgpu fp16'] as const;
  // A quick run may use a software driver.
  const soon = quick ? 600 : 60;
  const checks = FAMILIES.flatMap((family) =>
    gpu.flatMap((variant): Part[] => [
      { name: `golden ${family}, ${variant}`, args: ['golden', family, variant], limit: soon, variant },
      { name: `step ${family}, ${variant}`, args: ['step', family, variant], limit: soon, variant },
    ]),
  );
  const figures = (model: ModelName, limit: number, variants: readonly Variant[]): Part[] =>
    variants.map((variant) => ({
      name: `figures of ${model}, ${variant}`,
      args: ['figures', model, variant],
      limit,
      model,
      variant,
    }));
  const sized = quick
    ? (['small', 'two layers'] as const).flatMap((model) => figures(model, soon, [...gpu, 'cpu']))
    : [
        ...figures('small', 60, [...gpu, 'cpu']),
        ...figures('256M', 90, ['webgpu fp16', 'cpu', 'webgpu fp32']),
        ...figures('2B', 150, ['webgpu fp16', 'webgpu fp32', 'cpu']),
      ];
  return [{ name: 'the machine', args: ['probe'], limit: soon }, ...checks, ...sized];
}

export interface PartContext {
  /** folder of models */
  dir: string;
  quick: boolean;
  tell: Tell;
}

/** Runs one part in this process. */
export async function runPart(
  [kind, subject, variant]: readonly string[],
  { dir, quick, tell }: PartContext,
): Promise<void> {
  if (kind === 'probe') return probe(quick, tell);
  if (kind === 'make' && isModel(subject)) return makeModel(dir, subject);
  if (isVariant(variant)) {
    if (kind === 'golden') return tell(await golden(subject, variant, join(dir, 'cache')));
    if (kind === 'step') return tell(await goldenStep(subject, variant, join(dir, 'cache')));
    if (kind === 'figures' && isModel(subject)) {
      return measure({ dir, model: subject, variant, quick, tell });
    }
  }
  throw new Error(`there is no part "${[kind, subject, variant].join(' ')}"`);
}
