import { tensor } from '@ui-rl/graph';
import { ModelError } from '../../errors';
import type { Feeds, ImageGeometry, ImageInput } from '../base';
import { checkGrid, featuresPerPicture, stackPictures, type LlavaVision } from '../common/llava-vision';
import type { VisionInputs } from '../common/model';

/** Feeds of the tower over images of one picture each: `patches`, see `stackPictures`. */
export class LlavaFeeds implements VisionInputs {
  constructor(private readonly vision: LlavaVision) {}

  imageTokens({ grid }: ImageGeometry): number {
    if (grid[0] !== 1) {
      throw new ModelError('bad-input', `an image of ${grid[0]} pictures; LLaVA takes one per image`);
    }
    checkGrid(grid, this.vision);
    return featuresPerPicture(this.vision);
  }

  feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds {
    const { patches, shape } = stackPictures(images, this.vision, memory);
    return { patches: tensor('float32', patches, shape) };
  }
}
