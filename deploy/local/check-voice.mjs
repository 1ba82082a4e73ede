// Finds phrases that readers stumble over, and prose lines that are too long. `voice.json` records the allowed number
// of findings per file, which can only decrease: `npm run voice` checks, `npm run voice -- --update` records lower
// numbers.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const list = join(root, 'deploy/local/voice.json');
const LONGEST_LINE = 120;
/** Maximum findings printed per file. */
const SHOWN = 10;

/** Each pattern with its replacement. */
const PATTERNS = [
  [/\b(?:nobody|somebody|whoever|whatever)\b/gi, 'name the subject: the learner, a user, you'],
  [/(?:^|[.:;(*/] )(?:What|Who) (?!.*\?)/g, 'begin with a subject that has a name'],
  [/\b(?:is|are) no (?:[a-z]+ )?[a-z]+\b/g, 'say what it is, or "not a"; errors: "invalid …"'],
  [/\bin vain\b/gi, 'say what was waited for and for how long'],
  [/\b(?:is|are|was|were) told\b/gi, 'say who sends what to whom'],
  [/\b(?:goes|went|go|gone) on\b/gi, 'continues'],
  [/\bof its own\b|\bof their own\b|\bof your own\b/gi, 'its own, their own, your own'],
];

const GENERATED = /^docs\/reference\//;

/** Prose lines of Markdown: without code and tables. */
function proseOf(text) {
  let inCode = false;
  return text.split('\n').filter((line) => {
    if (line.startsWith('```')) inCode = !inCode;
    return !inCode && !line.startsWith('|') && !line.startsWith('```');
  });
}

function findingsOf(file) {
  const text = readFileSync(join(root, file), 'utf8');
  const isProse = file.endsWith('.md');
  const lines = isProse ? proseOf(text) : text.split('\n');
  return lines.flatMap((line) => [
    ...PATTERNS.flatMap(([pattern, instead]) =>
      Array.from(line.matchAll(pattern), ([found]) => `"${found.trim()}": ${instead}`),
    ),
    ...(isProse && line.length > LONGEST_LINE && line.includes(' ')
      ? [`${line.length} characters in a line: break it at ${LONGEST_LINE}`]
      : []),
  ]);
}

const SKIPPED = new Set(['node_modules', 'dist', 'runs', 'coverage', 'fixtures']);

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

const files = filesBelow()
  .filter((file) => !GENERATED.test(file) && file !== 'deploy/local/check-voice.mjs')
  .toSorted();

const recorded = JSON.parse(readFileSync(list, 'utf8'));
const found = Object.fromEntries(
  files.map((file) => [file, findingsOf(file)]).filter(([, findings]) => findings.length > 0),
);

if (process.argv.includes('--update')) {
  const counts = Object.fromEntries(
    Object.entries(found).map(([file, { length }]) => [file, Math.min(length, recorded[file] ?? length)]),
  );
  writeFileSync(list, `${JSON.stringify(counts, null, 1)}\n`);
}
let failed = false;
for (const [file, findings] of Object.entries(found)) {
  const allowed = recorded[file] ?? 0;
  if (findings.length <= allowed) continue;
  failed = true;
  console.error(`${file}: ${findings.length} findings, ${allowed} recorded in deploy/local/voice.json`);
  for (const finding of findings.slice(0, SHOWN)) console.error(`  ${finding}`);
  if (findings.length > SHOWN) console.error(`  … and ${findings.length - SHOWN} more`);
}
if (failed) process.exitCode = 1;
