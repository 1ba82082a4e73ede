export { ImageProcessor, type ImageProcessorOptions, type ProcessedImage } from './processor';
export { parseImageProcessorConfig, readImageProcessorConfig, type ImageProcessorConfig } from './config';
export { smartResize, type ResizeLimits, type Size } from './smart-resize';
export { resizeBicubic, type RgbImage } from './bicubic';
