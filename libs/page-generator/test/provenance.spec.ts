import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatePage } from '../src';
import { filesIn, normalized, runHashes, sentenceHash, SENTENCE_WORDS, sentencesIn } from './sentences';

const SOURCE = join(__dirname, '../src');

/** Hashes of sentences of MiniWoB++ and of the demo phone. */
const foreign = new Set(readFileSync(join(__dirname, 'foreign-sentences.txt'), 'utf8').trim().split('\n'));

function foreignRuns(text: string): string[] {
  return SENTENCE_WORDS.flatMap((count) => runHashes(text, count)).filter((hash) => foreign.has(hash));
}

/** Source files without tests. */
function sources(): string[] {
  return [...filesIn(SOURCE, /(?<!\.spec)\.ts$/)];
}

it('knows sentences of both, so that it would find them', () => {
  expect(foreign.size).toBeGreaterThan(100);
  const goal = normalized('Click on the "ok" button, and then on the link: "x"!');
  expect(goal.slice(0, 5)).toEqual(['click', 'on', 'the', 'ok', 'button']);
  expect(sentencesIn(`const a = 'One two.'; html('<p>three four</p>')`)).toEqual(
    expect.arrayContaining(['One two', 'three four']),
  );
  expect(sentenceHash(['a', 'b'])).toBe(runHashes('A b', 2)[0]);
});

it('has no sentence of MiniWoB++ or of the demo phone in its source', () => {
  const found = sources().filter((path) =>
    sentencesIn(readFileSync(path, 'utf8')).some((text) => foreignRuns(text).length > 0),
  );
  expect(found).toEqual([]);
});

it('puts no such sentence on a page', () => {
  for (let seed = 0; seed < 400; seed++) {
    const text = generatePage(seed)
      .html.replace(/^.*<body>/s, '')
      .replace(/<[^>]*>/g, ' ');
    expect([seed, foreignRuns(text)]).toEqual([seed, []]);
  }
});

it('imports nothing but seeded numbers, the vocabulary of actions, the browser and the decoder of pictures', () => {
  const imported = new Set(
    sources().flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/ from '([^.'][^']*)'/g)].map(([, name]) => name),
    ),
  );
  const allowed = ['@ui-rl/plugin-kit', '@ui-rl/random', 'playwright', 'sharp'];
  expect([...imported].filter((name) => !name.startsWith('node:') && !allowed.includes(name))).toEqual([]);
  expect(sources().filter((path) => /miniwob|task-source-demo/i.test(readFileSync(path, 'utf8')))).toEqual(
    [],
  );
});
