/** How rotary frequencies are stretched over longer sequences than a model was first trained on. */
export type RopeScaling =
  | { kind: 'linear'; factor: number }
  | {
      kind: 'llama3';
      factor: number;
      lowFrequencyFactor: number;
      highFrequencyFactor: number;
      originalPositions: number;
    };

const { fround } = Math;

/**
 * Frequencies under a scaling. `linear` divides all by the factor (arXiv:2306.15595, section 2.3); `llama3` divides those
 * whose wavelength is long against the original length, keeps the short ones, and blends in between
 * (`_compute_llama3_parameters` of transformers).
 */
export function scaleFrequencies(frequencies: Float32Array, scaling: RopeScaling | undefined): Float32Array {
  if (scaling === undefined) return frequencies;
  if (scaling.kind === 'linear') return frequencies.map((frequency) => frequency / scaling.factor);
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalPositions } = scaling;
  return frequencies.map((frequency) => {
    const wavelength = fround((2 * Math.PI) / frequency);
    if (wavelength < originalPositions / high) return frequency;
    if (wavelength > originalPositions / low) return frequency / factor;
    const smooth = fround((originalPositions / wavelength - low) / (high - low));
    return fround(fround((1 - smooth) * frequency) / factor) + fround(smooth * frequency);
  });
}
