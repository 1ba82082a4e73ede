import { Random } from '@ui-rl/plugin-kit';

export const COLUMNS = ['First name', 'Last name', 'Email', 'City', 'Amount'] as const;

const FIRST_NAMES =
  'Ada Amir Ben Chloé Dana Emil Farah Goran Hana Ivan Jana Karl Lena Mona Nils Olga Pia Rosa Sven Zoë'.split(
    ' ',
  );
const LAST_NAMES =
  'Alvarez Bauer Cohen Dubois Eriksen Fischer García Hansen Ito Jensen Kaya Lopez Müller Novak Okafor Petrov Rossi Silva Tanaka Weber'.split(
    ' ',
  );
const CITIES =
  'Aarhus Bergen Córdoba Dublin Essen Florence Ghent Hanover Ibadan Kyoto Lyon Malmö Nagoya Oslo Porto Riga Sofia Turin Uppsala Zürich'.split(
    ' ',
  );
const HOSTS = ['mail.test', 'post.example', 'office.test'];

/** Rows of the largest sheet. */
export const MOST_ROWS = 1_000;

/**
 * Distinct rows of a spreadsheet, a text for each column. Deterministic for the same seed and count. Another count
 * gives different rows: if a shorter sheet were a prefix of a longer one, the same rows could be used for training
 * and evaluation unnoticed.
 */
export function sheetOf(seed: number, count: number): string[][] {
  const random = new Random(seed * (MOST_ROWS + 1) + count);
  const rows = new Map<string, string[]>();
  while (rows.size < count) {
    const row = rowOf(random);
    rows.set(row.join('\t'), row);
  }
  return [...rows.values()];
}

function rowOf(random: Random): string[] {
  const first = random.pick(FIRST_NAMES);
  const last = random.pick(LAST_NAMES);
  const mailbox = plain(`${first}.${last}`).toLowerCase();
  const amount = `${5 + random.below(1_995)}.${String(random.below(100)).padStart(2, '0')}`;
  return [first, last, `${mailbox}@${random.pick(HOSTS)}`, random.pick(CITIES), amount];
}

/** Without accents, for e-mail addresses. */
function plain(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{M}/gu, '');
}
