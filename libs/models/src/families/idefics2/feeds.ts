import { tensor } from '@ui-rl/graph';
import { ModelError } from '../../errors';
import type { Feeds, ImageGeometry, ImageInput } from '../base';
import type { VisionInputs } from '../common/model';
import { excluded, bufferFor } from '../common/patch-feeds';
import { siglipPatchLength } from '../common/siglip-config';
import { bucketedPositionIds } from '../common/siglip-positions';
import type { Idefics2Config } from './config';

type Picture = readonly [rows: number, columns: number];

/** Rows and columns of patches of an image's pictures. */
function picturesOf({ grid, pictures }: ImageGeometry): readonly Picture[] {
  return pictures ?? Array.from({ length: grid[0] }, (): Picture => [grid[1], grid[2]]);
}

function patchesIn(pictures: readonly Picture[]): number {
  return pictures.reduce((sum, [rows, columns]) => sum + rows * columns, 0);
}

/**
 * Feeds of the tower over the pictures of all images, row after row, each padded to P patches: `patches` [N, P,
 * patchLength], `position_ids` [N, P], `patch_bias` [N, P] (0, or a large negative number for padding). Every picture
 * becomes as many tokens as the resampler has latents, independent of its size.
 */
export class Idefics2Feeds implements VisionInputs {
  constructor(private readonly config: Idefics2Config) {}

  imageTokens({ grid }: ImageGeometry): number {
    return grid[0] * this.config.perceiver.latents;
  }

  feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds {
    if (images.length === 0) throw new ModelError('bad-input', 'the vision tower needs at least one image');
    images.forEach((image, index) => this.check(image, index));
    const { vision } = this.config;
    const size = siglipPatchLength(vision);
    const N = images.reduce((count, { grid }) => count + grid[0], 0);
    const P = Math.max(
      ...images.flatMap((image) => picturesOf(image).map((picture) => patchesIn([picture]))),
    );
    const patches = bufferFor(N * P * size, memory).fill(0);
    const ids = new BigInt64Array(N * P);
    const bias = new Float32Array(N * P).fill(excluded);
    let place = 0;
    for (const image of images) {
      let read = 0;
      for (const [rows, columns] of picturesOf(image)) {
        const count = rows * columns;
        patches.set(image.patches.subarray(read * size, (read + count) * size), place * P * size);
        ids.set(BigInt64Array.from(bucketedPositionIds(rows, columns, vision.side), BigInt), place * P);
        bias.fill(0, place * P, place * P + count);
        read += count;
        place++;
      }
    }
    return {
      patches: tensor('float32', patches, [N, P, size]),
      position_ids: tensor('int64', ids, [N, P]),
      patch_bias: tensor('float32', bias, [N, P]),
    };
  }

  private check(image: ImageInput, index: number): void {
    const pictures = picturesOf(image);
    const numbers = patchesIn(pictures) * siglipPatchLength(this.config.vision);
    if (pictures.length !== image.grid[0] || image.patches.length !== numbers) {
      throw new ModelError(
        'bad-input',
        `image ${index}: grid [${image.grid.join(', ')}] with pictures ${JSON.stringify(pictures)} needs ${numbers} numbers, found ${image.patches.length}`,
      );
    }
  }
}
