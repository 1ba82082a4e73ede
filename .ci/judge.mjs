// Judges Jest's report of a whole run (`jest --json --outputFile=FILE`): `node .ci/judge.mjs FILE [FILE]`. A test that was left out is a
// failure, whatever left it out; so is a file that could not be run. A second report is that of the failed files run once more, by
// themselves: theirs is the verdict, and those that now pass are named as unsteady. Closes with `N passed, N failed`.
// `node .ci/judge.mjs --failed FILE` lists the failed files.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

function readReport(path) {
  const text = readFileSync(path, 'utf8');
  if (text === '') throw new Error('Jest ended before it wrote its report');
  return JSON.parse(text);
}

/** The first report, with the files of the second in the place of their own. */
function merged(first, second) {
  if (second === undefined) return first;
  const again = new Map(second.testResults.map((result) => [result.name, result]));
  for (const { name, status } of second.testResults) {
    if (status === 'passed') console.log(`unsteady: ${relative('.', name)}: failed, then passed by itself`);
  }
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

const failed = ({ status }) => status === 'failed';

const [, , ...words] = process.argv;
if (words[0] === '--failed') {
  for (const { name } of readReport(words[1]).testResults.filter(failed)) console.log(name);
  process.exit();
}

let verdict;
try {
  const [first, second] = words.map(readReport);
  verdict = judge(merged(first, second));
} catch (error) {
  verdict = { passed: 0, failures: [error.message] };
}
for (const failure of verdict.failures) console.log(failure);
console.log(`${verdict.passed} passed, ${verdict.failures.length} failed`);
process.exit(verdict.failures.length === 0 ? 0 : 1);
