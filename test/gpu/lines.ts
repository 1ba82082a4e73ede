/** The devices of a model, and the precision of products with frozen weights. */
export const VARIANTS = {
  cpu: { device: 'cpu', compute: 'fp32' },
  'webgpu fp32': { device: 'webgpu', compute: 'fp32' },
  'webgpu fp16': { device: 'webgpu', compute: 'fp16' },
} as const;

export type Variant = keyof typeof VARIANTS;

export function isVariant(name: string | undefined): name is Variant {
  return name !== undefined && Object.hasOwn(VARIANTS, name);
}

/** Variants of pytorch.py. */
export const PYTORCH_VARIANTS = ['torch bf16', 'torch fp32'] as const;

export type MeasuredVariant = Variant | (typeof PYTORCH_VARIANTS)[number];

/** One line of `results.jsonl`, written as soon as it is known, so that an interrupted run keeps its results. */
export type Line =
  | { kind: 'fact'; name: string; value: string }
  | {
      kind: 'check';
      /** the compared quantities */
      name: string;
      variant: Variant;
      /** largest difference */
      gap: number;
      tolerance: number;
      /** another violated condition; null if all hold */
      wrong: string | null;
    }
  | { kind: 'figure'; model: string; variant: MeasuredVariant; what: string; unit: string; value: number }
  | {
      kind: 'shares';
      model: string;
      variant: Variant;
      what: string;
      unit: string;
      shares: Readonly<Record<string, number>>;
    }
  /** a part that did not finish */
  | { kind: 'failure'; part: string; reason: string };

export function holds(line: Line & { kind: 'check' }): boolean {
  return line.wrong === null && line.gap <= line.tolerance;
}

export type Tell = (line: Line) => void;
