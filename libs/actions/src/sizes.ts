/** Pixels. */
export interface Size {
  width: number;
  height: number;
}

/** What coordinates of an answer can refer to. */
export interface ScreenSizes {
  /** The screenshot: coordinates of actions are its pixels. */
  screenshot: Size;
  /** The image as the model sees it, after resizing. */
  modelImage: Size;
}
