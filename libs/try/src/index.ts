export { askForChecks, plain } from './ask-for-checks';
export type { TryOptions, TryResult } from './options';
export { PROPOSAL_KINDS } from './propose';
export { tryPage } from './try-page';
export type { ShownTurn } from './view';
