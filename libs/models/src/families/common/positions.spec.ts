import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  bilinearInterpolation,
  imageTokensOf,
  ropeDelta,
  ropePositions,
  textRopeTables,
  visionPositions,
  visionRopeTables,
  type Grid,
} from './positions';

interface Expected {
  images: { grid: [number, number, number] }[];
  prompt_ids: number[];
  response_ids: number[];
  special_ids: Record<string, number>;
  rope_delta: number;
}

interface Config {
  text_config: {
    head_dim: number;
    rope_parameters: { rope_theta: number; mrope_section: [number, number, number] };
  };
  vision_config: {
    hidden_size: number;
    num_heads: number;
    num_position_embeddings: number;
    spatial_merge_size: number;
  };
}

function json(...path: string[]): unknown {
  return JSON.parse(readFileSync(join(...path), 'utf8'));
}

/** Reads one tensor of a safetensors file as numbers. */
function tensor(file: string, name: string): number[] {
  const bytes = readFileSync(file);
  const headerLength = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + headerLength)) as Record<
    string,
    { dtype: string; data_offsets: [number, number] }
  >;
  const [from, to] = header[name].data_offsets;
  const data = Uint8Array.from(bytes.subarray(8 + headerLength + from, 8 + headerLength + to)).buffer;
  return Array.from(header[name].dtype === 'I32' ? new Int32Array(data) : new Float32Array(data));
}

function largestDifference(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  expect(actual.length).toBe(expected.length);
  let largest = 0;
  for (let i = 0; i < expected.length; i++) largest = Math.max(largest, Math.abs(actual[i] - expected[i]));
  return largest;
}

describe.each(['qwen3-vl-a', 'qwen3-vl-b'])('positions of %s are those of the reference', (name) => {
  const folder = join(__dirname, '../../../../../test/golden/fixtures', name);
  const expected = json(folder, 'expected.json') as Expected;
  const config = json(folder, 'model', 'config.json') as Config;
  const reference = (key: string) => tensor(join(folder, 'expected.safetensors'), key);
  const grids: Grid[] = expected.images.map(({ grid }) => grid);
  const mergeSize = config.vision_config.spatial_merge_size;
  const tokens = [...expected.prompt_ids, ...expected.response_ids];
  const options = { imageTokenId: expected.special_ids['<|image_pad|>'], mergeSize };

  test('M-RoPE positions and delta', () => {
    const positions = ropePositions(tokens, grids, options);
    expect(Array.from(positions)).toEqual(reference('position_ids'));
    expect(ropeDelta(positions)).toBe(expected.rope_delta);
    expect(ropeDelta(ropePositions(expected.prompt_ids, grids, options))).toBe(expected.rope_delta);
  });

  test('rotary tables of the text', () => {
    const { head_dim: headDim, rope_parameters: rope } = config.text_config;
    const positions = ropePositions(tokens, grids, options);
    const tables = textRopeTables(positions, headDim, {
      theta: rope.rope_theta,
      sections: rope.mrope_section,
      interleaved: true,
    });
    expect(largestDifference(tables.cos, reference('text_cos'))).toBeLessThan(1e-5);
    expect(largestDifference(tables.sin, reference('text_sin'))).toBeLessThan(1e-5);
  });

  test('positions and rotary tables of the patches', () => {
    const positions = visionPositions(grids, mergeSize);
    expect(Array.from(positions)).toEqual(reference('vision_position_ids'));
    const tables = visionRopeTables(
      positions,
      config.vision_config.hidden_size / config.vision_config.num_heads,
    );
    expect(largestDifference(tables.cos, reference('vision_cos'))).toBeLessThan(1e-6);
    expect(largestDifference(tables.sin, reference('vision_sin'))).toBeLessThan(1e-6);
  });

  test('interpolation of the learned position embeddings', () => {
    const side = Math.sqrt(config.vision_config.num_position_embeddings);
    const { indices, weights } = bilinearInterpolation(grids, side, mergeSize);
    expect(Array.from(indices)).toEqual(reference('interpolation_indices'));
    expect(largestDifference(weights, reference('interpolation_weights'))).toBeLessThan(1e-6);
  });
});

describe('ropePositions', () => {
  const options = { imageTokenId: 9, mergeSize: 2 };

  test('text alone counts up on every axis', () => {
    const positions = ropePositions([1, 2, 3], [], options);
    expect(Array.from(positions)).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2]);
    expect(ropeDelta(positions)).toBe(0);
  });

  test('refuses placeholders that do not fit the grids', () => {
    expect(() => ropePositions([1, 9, 9, 1], [], options)).toThrow(/only 0 grids/);
    expect(() => ropePositions([1, 9, 9, 1], [[1, 4, 4]], options)).toThrow(/needs 4 placeholders.*found 2/);
    expect(() => ropePositions([9, 9, 9, 9, 9], [[1, 4, 4]], options)).toThrow(/found more/);
    expect(() => ropePositions([1, 2], [[1, 4, 4]], options)).toThrow(/1 grids were given.*0 images/);
  });
});

test('an image has a token for each square of merged patches', () => {
  expect(imageTokensOf([1, 4, 6], 2)).toBe(6);
});
