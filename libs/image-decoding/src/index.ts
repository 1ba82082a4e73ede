export { decodeRgb, ImageDecodingError, imageSize, MAX_PIXELS, toRgbPng } from './decode';
export type { ImageSize, RgbImage } from './image';
