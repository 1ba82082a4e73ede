// Judges Jest's report of a whole run (`jest --json --outputFile=FILE`): `node .ci/judge.mjs FILE [FILE]`. A test that
// was left out is a failure, and so is a file that did not run. A second report is that of the failed files, run once
// more by themselves, and replaces their results. A file that passes only then is unsteady: add the date to
// unsteady.json. With the third date it fails until it is mended and its entry removed. Ends with `N passed, N failed`.
// `node .ci/judge.mjs --failed FILE` lists the failed files.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

function readReport(path) {
  const text = readFileSync(path, 'utf8');
  if (text === '') throw new Error('Jest ended before it wrote its report');
  return JSON.parse(text);
}

/** Dates on which a spec failed and then passed by itself. */
const UNSTEADY = JSON.parse(readFileSync(new URL('unsteady.json', import.meta.url), 'utf8'));
const MOST_DATES = 2;

/** Reports the specs that passed only by themselves; returns those that did so too often. */
function unsteady(second) {
  const names = (second?.testResults ?? [])
    .filter(({ status }) => status === 'passed')
    .map(({ name }) => relative('.', name));
  for (const name of names) {
    console.log(`unsteady: ${name} failed, then passed by itself: add today's date to .ci/unsteady.json`);
  }
  return names.filter((name) => (UNSTEADY[name]?.length ?? 0) >= MOST_DATES);
}

/** The first report, with the results of the second for its files. */
function merged(first, second) {
  if (second === undefined) return first;
  const again = new Map(second.testResults.map((result) => [result.name, result]));
  return {
    success: second.success,
    testResults: first.testResults.map((result) => again.get(result.name) ?? result),
  };
}

function judge({ testResults, success }) {
  const tests = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ status, fullName }) => ({ status, name: `${relative('.', name)}: ${fullName}` })),
  );
  const passed = tests.filter(({ status }) => status === 'passed').length;
  const failures = [
    ...tests.filter(({ status }) => status !== 'passed').map(({ status, name }) => `${status}: ${name}`),
    ...testResults
      .filter(
        ({ status, assertionResults }) =>
          status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
      )
      .map(({ name, message }) => `failed: ${relative('.', name)}: ${message}`),
  ];
  if (passed === 0) failures.push('no test was run');
  if (failures.length === 0 && !success) failures.push('Jest failed outside of its tests');
  return { passed, failures };
}

/** Lists the files that took longest: the run has a time limit. */
function printSlowest({ testResults }) {
  const seconds = ({ startTime, endTime }) => Math.round((endTime - startTime) / 1000);
  for (const result of testResults.toSorted((a, b) => seconds(b) - seconds(a)).slice(0, 20)) {
    console.log(`${String(seconds(result)).padStart(5)} s  ${relative('.', result.name)}`);
  }
}

const failed = ({ status }) => status === 'failed';

const [, , ...words] = process.argv;
if (words[0] === '--failed') {
  for (const { name } of readReport(words[1]).testResults.filter(failed)) console.log(name);
  process.exit();
}

let verdict;
try {
  const [first, second] = words.map(readReport);
  printSlowest(first);
  verdict = judge(merged(first, second));
  for (const name of unsteady(second)) {
    verdict.failures.push(`unsteady for the third time, first ${UNSTEADY[name][0]}: ${name}: mend it`);
  }
} catch (error) {
  verdict = { passed: 0, failures: [error.message] };
}
for (const failure of verdict.failures) console.log(failure);
console.log(`${verdict.passed} passed, ${verdict.failures.length} failed`);
process.exit(verdict.failures.length === 0 ? 0 : 1);
