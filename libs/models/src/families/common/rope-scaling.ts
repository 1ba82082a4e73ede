/** Scaling of rotary frequencies to sequences longer than those of the original training. */
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
 * Scaled frequencies. `linear` divides all by the factor (arXiv:2306.15595, section 2.3); `llama3` divides those with
 * wavelengths that are long relative to the original length, keeps the short ones, and interpolates in between
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
