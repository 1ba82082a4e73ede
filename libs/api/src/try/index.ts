export { askForChecks, plain } from './ask-for-checks';
export { TryFailure } from './failure';
export type { TryOptions, TryResult, WrittenTask } from './options';
export { PROPOSAL_KINDS } from './propose';
export { tryPage } from './try-page';
export type { ShownProposal, ShownTurn, View } from './view';
