export { choiceKey } from './choice-key';
export {
  completeOptions,
  type Completed,
  type CompletionContext,
  type ComponentCatalogue,
  type OptionProblem,
} from './complete';
export {
  Above,
  Below,
  Choice,
  Doc,
  Fits,
  Group,
  LocalFile,
  Needs,
  notesOf,
  type DocExtras,
  type PropertyNote,
} from './decorators';
export { describeOptions } from './describe';
export { filesOf, type NamedFile } from './files-of';
export { isNeedMet, needInWords } from './needs';
export { fromDescription } from './from-description';
export { soundsSecret, withoutSecrets, withoutUrlSecrets } from './secrets';
export type {
  ChoiceNote,
  FileNote,
  NeedsNote,
  OptionDescription,
  OptionInfo,
  OptionsClass,
  OptionsDescription,
  OptionType,
} from './types';
