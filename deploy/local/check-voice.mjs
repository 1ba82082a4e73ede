// Finds phrases that readers stumble over, and prose lines that are too long: `npm run voice`.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const LONGEST_LINE = 120;

/** Each pattern with its replacement. */
const PATTERNS = [
  // Quoted, it is the name of the Unix account, as in `su nobody`.
  [
    /(?!(?<=['"`])nobody['"`])\b(?:nobody|somebody|whoever|whatever)\b/gi,
    'name the subject: the learner, a user, you',
  ],
  [/(?:^|[.:;(*/] )(?:What|Who) (?!.*\?)/g, 'begin with a subject that has a name'],
  [/\b(?:describe|it|test)\b.*\(['"`](?:what|who) /g, 'a title begins with a subject that has a name'],
  // "There is no such file" and "is no longer stored" are plain English.
  [
    /(?<!\bthere )\b(?:is|are) no (?!longer\b|better\b)(?:[a-z]+ )?[a-z]+\b/gi,
    'say what it is, or "not a"; errors: "invalid …"',
  ],
  [/\bin vain\b/gi, 'say what was waited for and for how long'],
  [/\b(?:is|are|was|were) told\b/gi, 'say who sends what to whom'],
  [/\b(?:goes|went|go|gone) on\b/gi, 'continues'],
  [/\bof its own\b|\bof their own\b|\bof your own\b/gi, 'its own, their own, your own'],
];

const SKIPPED = new Set(['node_modules', 'dist', 'runs', 'coverage', 'fixtures']);

/** Generated pages; this file; and training data: orders in the words of many users. */
const EXCLUDED = ['docs/reference/', 'deploy/local/check-voice.mjs', 'libs/page-tasks/src/wording/'];

/** Source files and Markdown below a folder, relative to the root; skips hidden folders, which are caches. */
function filesBelow(folder = '') {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      return SKIPPED.has(entry.name) || entry.name.startsWith('.') ? [] : filesBelow(path);
    }
    return /\.(md|ts|tsx|mjs)$/.test(entry.name) ? [path] : [];
  });
}

/** Lines with their numbers; of Markdown only prose, without code and tables. */
function linesOf(file) {
  const lines = readFileSync(join(root, file), 'utf8')
    .split('\n')
    .map((text, index) => ({ text, number: index + 1 }));
  if (!file.endsWith('.md')) return lines;
  let inCode = false;
  return lines.filter(({ text }) => {
    if (text.startsWith('```')) inCode = !inCode;
    return !inCode && !text.startsWith('|') && !text.startsWith('```');
  });
}

function problemsOf(text, isProse) {
  const phrases = PATTERNS.flatMap(([pattern, instead]) =>
    Array.from(text.matchAll(pattern), ([found]) => `"${found.trim()}": ${instead}`),
  );
  const isLong = isProse && text.length > LONGEST_LINE && text.includes(' ');
  return isLong ? [...phrases, `${text.length} characters in a line: break it at ${LONGEST_LINE}`] : phrases;
}

const findings = filesBelow()
  .filter((file) => !EXCLUDED.some((prefix) => file.startsWith(prefix)))
  .toSorted()
  .flatMap((file) =>
    linesOf(file).flatMap(({ text, number }) =>
      problemsOf(text, file.endsWith('.md')).map((problem) => `${file}:${number}: ${problem}`),
    ),
  );
for (const finding of findings) console.error(finding);
if (findings.length > 0) process.exitCode = 1;
