import type { Device } from '@ui-rl/engine';

export const PARTS = ['train', 'generate', 'env', 'message', 'memory'] as const;
/** Only on demand: `deep` needs a large model and minutes, `screenshots` and `prefixes` compare alternatives. */
export const EXTRA_PARTS = ['deep', 'screenshots', 'prefixes'] as const;
export type PartName = (typeof PARTS)[number] | (typeof EXTRA_PARTS)[number];

export interface BenchOptions {
  /** Hugging Face folder. */
  modelDir: string;
  /** Fewer repetitions: for a quick look, not for published results. */
  quick: boolean;
  /** of the base in part `deep` */
  quantization: 'none' | 'int8' | 'int4';
  /** device of the model in parts `generate`, `deep` and `prefixes` */
  device: Device;
  onProgress: (line: string) => void;
}

/** The measurements of a part. */
export interface PartResult {
  /** Keys of the report, see docs/experiments/speed.md. */
  ratios: Partial<
    Record<'train_vs_matmul' | 'generate_64_vs_1' | 'env_vs_playwright' | 'step_overhead_ms', number>
  >;
  details: Record<string, unknown>;
  /** Peak resident set by process, bytes. */
  peakRssBytes: Record<string, number>;
}
