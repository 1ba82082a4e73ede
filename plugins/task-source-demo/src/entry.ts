/** One line of the catalogue. */
export interface Entry {
  name: string;
  goal: string;
  /** Screen the episode starts from. */
  from: string;
}
