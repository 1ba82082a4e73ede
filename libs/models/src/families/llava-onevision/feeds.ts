import { tensor } from '@ui-rl/graph';
import type { Feeds, ImageGeometry, ImageInput } from '../base';
import { checkGrid, stackPictures } from '../common/llava-vision';
import type { VisionInputs } from '../common/model';
import type { LlavaOneVisionConfig } from './config';
import { packedFeatures, packImage, type Packing } from './packing';

/**
 * Feeds of the tower over the pictures of all images: `patches`, see `stackPictures`; `pack_rows` and `pack_weights`
 * [F, K]: the rows of the projected pictures whose weighted sum is each feature (see `Packing`). The newline follows
 * the last picture's rows.
 */
export class LlavaOneVisionFeeds implements VisionInputs {
  constructor(private readonly config: LlavaOneVisionConfig) {}

  private get side(): number {
    return this.config.vision.tower.side;
  }

  imageTokens(image: ImageGeometry): number {
    checkGrid(image.grid, this.config.vision);
    return packedFeatures(image, this.side, this.config.maxTiles);
  }

  feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds {
    const { patches, shape } = stackPictures(images, this.config.vision, memory);
    const packings = images.map((image) => packImage(image, this.side, this.config.maxTiles));
    const K = Math.max(...packings.map(({ taps }) => taps));
    const F = packings.reduce((sum, { rows, taps }) => sum + rows.length / taps, 0);
    const pictureRows = this.side ** 2;
    const newline = shape[0] * pictureRows;
    const rows = new BigInt64Array(F * K);
    const weights = new Float32Array(F * K);
    let [feature, firstRow] = [0, 0];
    packings.forEach((packing, index) => {
      place(packing, K, feature, (at, row, weight) => {
        rows[at] = BigInt(row === -1 ? newline : firstRow + row);
        weights[at] = weight;
      });
      feature += packing.rows.length / packing.taps;
      firstRow += images[index].grid[0] * pictureRows;
    });
    return {
      patches: tensor('float32', patches, shape),
      pack_rows: tensor('int64', rows, [F, K]),
      pack_weights: tensor('float32', weights, [F, K]),
    };
  }
}

/** Visits the taps of a packing at their positions in a table of K per feature, starting at a feature. */
function place(
  { rows, weights, taps }: Packing,
  K: number,
  feature: number,
  visit: (at: number, row: number, weight: number) => void,
): void {
  rows.forEach((row, index) => {
    visit((feature + Math.floor(index / taps)) * K + (index % taps), row, weights[index]);
  });
}
