export { accuracy, isRight, pointsInside, type Expected } from './held-out';
export { copyQuestions, keyQuestion, scrollQuestion } from './questions/plain';
export { pointQuestions, type QuestionOptions } from './questions/point';
export type { Question, Reading, Target } from './questions/question';
export { readQuestions } from './questions/read';
export { wordQuestions } from './questions/words';
export type { Split } from './wording/phrases';
export { drawText } from './wording/texts';
export {
  Attempt,
  makeTask,
  nextStep,
  pageFor,
  play,
  TASK_KINDS,
  walk,
  type PageState,
  type Standing,
  type Step,
  type Task,
  type TaskKind,
  type WalkEnd,
  type WalkOptions,
  type WalkStep,
} from './tasks';
