/** A visible element as a page describes it. Box is [x, y, width, height] in pixels. */
export interface DescribedElement {
  kind: string;
  label: string;
  box: [number, number, number, number];
  value?: string;
  focused?: boolean;
}

/** The oracle's input: the results of the page's `uirl.state()` and `uirl.describe()`. */
export interface OracleObservation {
  state: Record<string, unknown>;
  elements: DescribedElement[];
}
