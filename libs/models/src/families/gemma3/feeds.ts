import { tensor } from '@ui-rl/graph';
import { ModelError } from '../../errors';
import type { Feeds, ImageGeometry, ImageInput } from '../base';
import type { VisionInputs } from '../common/model';
import { bufferFor } from '../common/patch-feeds';
import { siglipPatchLength } from '../common/siglip-config';
import type { Gemma3Config } from './config';

/** Feeds of the tower: `patches` [N, side², patchLength] of images of the tower's size, row after row. */
export class Gemma3Feeds implements VisionInputs {
  constructor(private readonly config: Gemma3Config) {}

  imageTokens({ grid }: ImageGeometry): number {
    const { vision, poolSize } = this.config;
    const { side } = vision;
    if (grid[0] !== 1 || grid[1] !== side || grid[2] !== side) {
      throw new ModelError(
        'bad-input',
        `an image of ${grid.join('×')} patches; expected 1×${side}×${side}: do preprocessor_config.json and config.json belong to the same model?`,
      );
    }
    return (side / poolSize) ** 2;
  }

  feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds {
    if (images.length === 0) throw new ModelError('bad-input', 'the vision tower needs at least one image');
    const size = siglipPatchLength(this.config.vision);
    const P = this.config.vision.side ** 2;
    const patches = bufferFor(images.length * P * size, memory);
    images.forEach((image, index) => {
      this.imageTokens(image);
      if (image.patches.length !== P * size) {
        throw new ModelError(
          'bad-input',
          `image ${index}: grid [${image.grid.join(', ')}] needs ${P * size} numbers, found ${image.patches.length}`,
        );
      }
      patches.set(image.patches, index * P * size);
    });
    return { patches: tensor('float32', patches, [images.length, P, size]) };
  }
}
