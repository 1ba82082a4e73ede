// Judges Jest's report of a whole run (`jest --json --outputFile=FILE`): `node .ci/judge.mjs FILE`. A test that was left out is a
// failure, whatever left it out; so is a file that could not be run. Closes with `N passed, N failed`.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

function readReport(path) {
  const text = readFileSync(path, 'utf8');
  if (text === '') throw new Error('Jest ended before it wrote its report');
  return JSON.parse(text);
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

let verdict;
try {
  verdict = judge(readReport(process.argv[2]));
} catch (error) {
  verdict = { passed: 0, failures: [error.message] };
}
for (const failure of verdict.failures) console.log(failure);
console.log(`${verdict.passed} passed, ${verdict.failures.length} failed`);
process.exit(verdict.failures.length === 0 ? 0 : 1);
