import { readBehindThoughts, type ReadAnswer } from './thoughts';

/** Parses words in braces: `{a} {b}`. */
function words(answer: string): ReadAnswer<string[]> {
  return readBehindThoughts(answer, (start) => {
    const found = [...answer.slice(start).matchAll(/\{[^}]*\}/g)];
    const parts = found.map(({ index, 0: word }) => ({
      start: start + index,
      end: start + index + word.length,
    }));
    return { value: found.map(([word]) => word), parts: found.length === 0 ? null : parts };
  });
}

const MARKERS = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  [
    '<think_never_used_51bce0c785ca2f68081bfa7d91973934>',
    '</think_never_used_51bce0c785ca2f68081bfa7d91973934>',
  ],
  ['<seed:think>', '</seed:think>'],
  ['<thought>', '</thought>'],
  ['<reasoning>', '</reasoning>'],
  ['◁think▷', '◁/think▷'],
  ['[THINK]', '[/THINK]'],
  ['<|begin_of_thought|>', '<|end_of_thought|>'],
  ['<|START_THINKING|>', '<|END_THINKING|>'],
  ['<|channel>thought\n', '<channel|>'],
];

describe.each(MARKERS)('%s', (begin, end) => {
  it.each([
    ['no thoughts', '{a} then {b}', ['{a}', '{b}']],
    ['thoughts', `${begin}{x} or {y}${end}{a}`, ['{a}']],
    ['thoughts that a template began', `{x}${end}\n{a}`, ['{a}']],
    ['no thoughts that a template began', `${end}{a}`, ['{a}']],
    ['thoughts behind words', `So: ${begin}{x}${end}{a}`, ['{a}']],
    ['thoughts twice', `${begin}{x}${end}{y}${begin}{z}${end}{a}`, ['{a}']],
    ['thoughts that name a marker', `${begin}{x} ${begin} ${end} {y}${end}{a}`, ['{a}']],
  ])('are read with %s', (_name, answer, expected) => {
    expect(words(answer)).toMatchObject({ value: expected, isCutOff: false });
  });

  it.each([
    ['the end', `{a ${end}}`, [`{a ${end}}`], 0],
    ['the beginning', `{a ${begin}}`, [`{a ${begin}}`], 0],
    ['the end, behind thoughts', `x${end}{a ${end}}`, [`{a ${end}}`], 1 + end.length],
    ['the end often', `x${end}{${end.repeat(50)}}`, [`{${end.repeat(50)}}`], 1 + end.length],
  ])('are text of the answer: %s', (_name, answer, expected, start) => {
    expect(words(answer)).toEqual({ value: expected, start, isCutOff: false });
  });

  it.each([
    ['at the beginning', `${begin}{x}`],
    ['behind white space', `\n ${begin} nothing yet`],
    ['behind words', `So: ${begin}{x}`],
    ['behind other thoughts', `${begin}{x}${end}{y} ${begin}{z}`],
  ])('are cut off %s', (_name, answer) => {
    expect(words(answer)).toMatchObject({ isCutOff: true });
  });
});

it('reads nothing of thoughts that nothing follows', () => {
  expect(words('<think>{x}</think>')).toEqual({ value: [], start: 18, isCutOff: false });
  expect(words('{x}</think>  ')).toEqual({ value: [], start: 11, isCutOff: false });
});

it('reads a bounded number of times, for any answer', () => {
  let reads = 0;
  readBehindThoughts('<think></think>'.repeat(10_000), () => {
    reads += 1;
    return { value: null, parts: null };
  });
  expect(reads).toBeLessThanOrEqual(10);
});
