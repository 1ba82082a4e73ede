/** Pixels of an image. */
export interface ImageSize {
  width: number;
  height: number;
}

/** 8-bit RGB, row-major [height, width, 3]. */
export interface RgbImage extends ImageSize {
  data: Uint8Array;
}
