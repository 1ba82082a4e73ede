export {
  Above,
  Below,
  Choice,
  Doc,
  Group,
  notesOf,
  type ChoiceNote,
  type DocExtras,
  type PropertyNote,
} from './decorators';
export type { OptionDescription, OptionsClass, OptionsDescription } from './types';
