/** One line of the catalogue. */
export interface Entry {
  name: string;
  goal: string;
  /** Start screen of the episode. */
  from: string;
}
