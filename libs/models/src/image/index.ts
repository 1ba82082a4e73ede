export {
  asShownTogether,
  ImageProcessor,
  type ImageProcessorOptions,
  type MeasuredImage,
  type ProcessedImage,
} from './processor';
export { sizeOf as imageSize } from './decode';
export { loadImageProcessor, parsePreparation } from './load';
export { type ImageModel, type ImagePreparation } from './preparation';
export { parseQwenVlImages, QwenVlImages, type QwenVlImageConfig } from './qwen-vl';
export { smartResize, type ResizeLimits, type Size } from './smart-resize';
export { BICUBIC, BILINEAR, LANCZOS, resize, type RgbImage } from './resample';
