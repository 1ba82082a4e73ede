export { pointQuestions, type QuestionOptions } from './questions/point';
export { copyQuestions, keyQuestion, scrollQuestion } from './questions/plain';
export { readQuestions } from './questions/read';
export type { Question, Reading, Target } from './questions/question';
export type { Split } from './wording/phrases';
