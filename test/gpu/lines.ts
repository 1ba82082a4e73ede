/** What a model is run on, and how products with frozen weights are computed there. */
export const VARIANTS = {
  cpu: { device: 'cpu', compute: 'fp32' },
  'webgpu fp32': { device: 'webgpu', compute: 'fp32' },
  'webgpu fp16': { device: 'webgpu', compute: 'fp16' },
} as const;

export type Variant = keyof typeof VARIANTS;

export function isVariant(name: string | undefined): name is Variant {
  return name !== undefined && Object.hasOwn(VARIANTS, name);
}

/** One line of `results.jsonl`: written when it is known, so that a run that is cut short leaves what it found. */
export type Line =
  | { kind: 'fact'; name: string; value: string }
  | {
      kind: 'check';
      /** what was compared with what */
      name: string;
      variant: Variant;
      /** largest difference */
      gap: number;
      tolerance: number;
      /** what else has to hold; null where it does */
      wrong: string | null;
    }
  | { kind: 'figure'; model: string; variant: Variant; what: string; unit: string; value: number }
  | {
      kind: 'shares';
      model: string;
      variant: Variant;
      what: string;
      unit: string;
      shares: Readonly<Record<string, number>>;
    }
  /** a part that did not come to its end */
  | { kind: 'failure'; part: string; reason: string };

export function holds(line: Line & { kind: 'check' }): boolean {
  return line.wrong === null && line.gap <= line.tolerance;
}

export type Tell = (line: Line) => void;
