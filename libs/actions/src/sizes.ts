/** Pixels. */
export interface Size {
  width: number;
  height: number;
}

/** The images to which coordinates of an answer can refer. */
export interface ScreenSizes {
  /** The screenshot, in whose pixels actions have their coordinates. */
  screenshot: Size;
  /** The image as the model sees it, after resizing. */
  modelImage: Size;
}
