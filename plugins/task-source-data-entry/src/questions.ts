import { PluginError, Random, type Task } from '@ui-rl/plugin-kit';
import type { QuestionOptions } from './options';
import { COLUMNS, sheetOf } from './sheet';
import { environmentOf } from './tasks';

type AnswerCheck = Extract<NonNullable<Task['checks']>[number], { kind: 'answer' }>;

interface Question {
  text: string;
  check: Omit<AnswerCheck, 'kind'>;
  difficulty: Task['difficulty'];
}

/** Asks one question about a sheet; undefined if it has no clear answer. */
type Asker = (rows: readonly string[][], random: Random) => Question | undefined;

const [FIRST, LAST, EMAIL, CITY, AMOUNT] = COLUMNS.keys();
const DRAWS_PER_QUESTION = 200;

const nameOf = (row: readonly string[]) => `${row[FIRST]} ${row[LAST]}`;
const amountOf = (row: readonly string[]) => Number(row[AMOUNT]);

/** A person of the sheet whose full name is unique. */
function onePerson(rows: readonly string[][], random: Random): string[] | undefined {
  const row = random.pick(rows);
  return rows.filter((each) => nameOf(each) === nameOf(row)).length === 1 ? row : undefined;
}

const lookUp =
  (column: number, text: (name: string) => string): Asker =>
  (rows, random) => {
    const row = onePerson(rows, random);
    if (row === undefined) return undefined;
    const check: Question['check'] =
      column === AMOUNT ? { operator: 'number', value: amountOf(row) } : { value: row[column] };
    return { text: text(nameOf(row)), check, difficulty: 'easy' };
  };

const ownerOf: Asker = (rows, random) => {
  const row = random.pick(rows);
  if (rows.filter((each) => each[EMAIL] === row[EMAIL]).length > 1) return undefined;
  return {
    text: `Whose email address is ${row[EMAIL]}? Give the first and the last name.`,
    check: { value: nameOf(row) },
    difficulty: 'easy',
  };
};

const countIn: Asker = (rows, random) => {
  const city = random.pick(rows)[CITY];
  const value = rows.filter((row) => row[CITY] === city).length;
  return {
    text: `How many people live in ${city}?`,
    check: { operator: 'number', value },
    difficulty: 'medium',
  };
};

const peopleIn: Asker = (rows, random) => {
  const city = random.pick(rows)[CITY];
  const names = rows.filter((row) => row[CITY] === city).map(nameOf);
  if (names.length < 2 || new Set(names).size < names.length) return undefined;
  return {
    text: `Who lives in ${city}? List the first and last names, separated by commas.`,
    check: { operator: 'set', value: names },
    difficulty: 'hard',
  };
};

const extreme: Asker = (rows, random) => {
  const isLargest = random.chance(0.5);
  const amounts = rows.map(amountOf);
  const wanted = isLargest ? Math.max(...amounts) : Math.min(...amounts);
  const found = rows.filter((row) => amountOf(row) === wanted);
  if (found.length > 1) return undefined;
  return {
    text: `Who has the ${isLargest ? 'largest' : 'smallest'} amount? Give the first and the last name.`,
    check: { value: nameOf(found[0]) },
    difficulty: 'medium',
  };
};

const sumOf: Asker = (rows, random) => {
  const count = 2 + random.below(3);
  if (rows.length < count) return undefined;
  const begin = random.below(rows.length - count + 1);
  const cents = rows
    .slice(begin, begin + count)
    .reduce((sum, row) => sum + Math.round(100 * amountOf(row)), 0);
  return {
    text: `What is the sum of the amounts in rows ${begin + 1} to ${begin + count}?`,
    check: { operator: 'number', value: cents / 100, within: 0.005 },
    difficulty: 'hard',
  };
};

const ASKERS: readonly Asker[] = [
  lookUp(EMAIL, (name) => `What is the email address of ${name}?`),
  lookUp(CITY, (name) => `In which city does ${name} live?`),
  lookUp(AMOUNT, (name) => `What is the amount of ${name}?`),
  ownerOf,
  countIn,
  peopleIn,
  extreme,
  sumOf,
];

/** Turns for scrolling through the sheet, and for the answer. */
const MAX_STEPS = 12;

/**
 * Distinct questions about one sheet, of each kind in turn.
 * @throws PluginError `option` if the sheet is too small for so many
 */
export function questionTasks(options: QuestionOptions): Task[] {
  const { questions: wanted, rows: count, sheet: number } = options;
  const rows = sheetOf(number, count);
  const random = new Random(number * 7_919 + count);
  const found = new Map<string, Question>();
  for (let draw = 0; found.size < wanted && draw < wanted * DRAWS_PER_QUESTION; draw++) {
    const question = ASKERS[draw % ASKERS.length](rows, random);
    if (question !== undefined && !found.has(question.text)) found.set(question.text, question);
  }
  if (found.size < wanted) {
    throw new PluginError(
      'option',
      `tasks: a spreadsheet of ${count} rows has ${found.size} different questions, expected at most that many, found questions: ${wanted}`,
    );
  }
  return [...found.values()].map(({ text, check, difficulty }, index): Task => ({
    id: `sheet_question.${options.on}.${number}.${count}.${index + 1}`,
    description: `${text} Scroll the spreadsheet if you need more rows, and finish with the answer.`,
    category: 'app',
    difficulty,
    maxSteps: MAX_STEPS,
    environment: environmentOf(options, rows),
    checks: [{ kind: 'answer', ...check }],
  }));
}
