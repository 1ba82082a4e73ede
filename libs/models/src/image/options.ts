import { ModelError } from '../errors';
import { filters } from './resample';
import type { Size } from './smart-resize';

type Json = Record<string, unknown>;

/** Converts levels from 0 to 255 to numbers: (level · rescaleFactor - mean) / std per channel. */
export interface Normalization {
  rescaleFactor: number;
  /** per channel, of values from 0 to 1 */
  mean: readonly [number, number, number];
  std: readonly [number, number, number];
}

const STEPS = ['do_resize', 'do_rescale', 'do_normalize', 'do_convert_rgb'];
const CLIP_MEAN = [0.48145466, 0.4578275, 0.40821073];
const CLIP_STD = [0.26862954, 0.26130258, 0.27577711];

/** Reads the options that the image processors of all families share; errors name the file and the option. */
export class ImageOptions {
  /** @throws ModelError `unsupported` if a step that all processors take is disabled. */
  constructor(
    private readonly json: Json,
    private readonly source: string,
  ) {
    const disabled = STEPS.find((step) => json[step] === false);
    if (disabled === undefined) return;
    throw new ModelError('unsupported', `${source}: "${disabled}": false is not supported`);
  }

  error(name: string, expected: string): ModelError {
    return new ModelError(
      'bad-config',
      `${this.source}: "${name}" is ${JSON.stringify(this.json[name])}; expected ${expected}`,
    );
  }

  positive(name: string, value: unknown, fallback?: number): number {
    const found = value ?? fallback;
    if (typeof found === 'number' && found > 0) return found;
    throw new ModelError(
      'bad-config',
      `${this.source}: "${name}" is ${JSON.stringify(value)}; expected a positive number`,
    );
  }

  normalization(mean: readonly number[] = CLIP_MEAN, std: readonly number[] = CLIP_STD): Normalization {
    return {
      rescaleFactor: this.positive('rescale_factor', this.json.rescale_factor, 1 / 255),
      mean: this.triple('image_mean', mean),
      std: this.triple('image_std', std),
    };
  }

  /** A boolean option; null counts as missing. */
  flag(name: string, fallback: boolean): boolean {
    const found = this.json[name] ?? fallback;
    if (typeof found === 'boolean') return found;
    throw this.error(name, 'true or false');
  }

  /** The resize filter, as numbered by Pillow. */
  resample(fallback: number, supported = Object.keys(filters).map(Number)): number {
    const found = this.json.resample ?? fallback;
    if (supported.includes(found as number)) return found as number;
    throw new ModelError(
      'unsupported',
      `${this.source}: "resample" is ${JSON.stringify(found)}; only ${supported.join(', ')} (1 Lanczos, 2 bilinear, 3 bicubic) is supported`,
    );
  }

  /** A size as one number, `{shortest_edge}` or `{height, width}`; undefined if it is missing. */
  size(name: string): { shortestEdge: number } | Size | undefined {
    const value = this.json[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'number') return { shortestEdge: this.positive(name, value) };
    const { shortest_edge: shortest, height, width } = value as Json;
    if (shortest !== undefined && shortest !== null) {
      return { shortestEdge: this.positive(`${name}.shortest_edge`, shortest) };
    }
    return {
      height: this.positive(`${name}.height`, height),
      width: this.positive(`${name}.width`, width),
    };
  }

  private triple(name: string, fallback: readonly number[]): [number, number, number] {
    const found = this.json[name] ?? fallback;
    if (Array.isArray(found) && found.length === 3 && found.every((value) => typeof value === 'number')) {
      return found as [number, number, number];
    }
    throw new ModelError(
      'bad-config',
      `${this.source}: "${name}" is ${JSON.stringify(found)}; expected three numbers`,
    );
  }
}
