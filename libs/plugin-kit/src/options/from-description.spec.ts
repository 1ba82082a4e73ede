import { completeOptions, describeOptions, fromDescription, type OptionDescription } from './index';

describe('fromDescription', () => {
  const description = {
    rate: { type: 'number', description: 'a rate', default: 0.5, above: 0, atMost: 1 },
    steps: { type: 'integer', description: 'steps', required: true, atLeast: 1 },
    mode: { type: 'text', description: 'a mode', choices: ['fast', 'slow'], default: 'fast' },
    tags: { type: 'list', description: 'tags', default: ['a'] },
    sizes: { type: 'list', description: 'sizes', of: 'integer', atLeast: 1 },
    headers: { type: 'object', description: 'headers', default: {} },
    loud: { type: 'boolean', description: 'loud', default: false },
  } satisfies Record<string, OptionDescription>;

  it('makes a class that is described and checked like any other', () => {
    const type = fromDescription(description);
    expect(describeOptions(type)).toMatchObject([
      {
        name: 'rate',
        type: 'number',
        expected: 'a number above 0 and at most 1',
        default: 0.5,
      },
      { name: 'steps', type: 'integer', expected: 'a whole number of at least 1', required: true },
      { name: 'mode', type: 'text', expected: 'one of fast, slow', choices: ['fast', 'slow'] },
      { name: 'tags', type: 'list', expected: 'a list, each entry a text that is not empty', default: ['a'] },
      {
        name: 'sizes',
        type: 'list',
        expected: 'a list, each entry a whole number of at least 1',
        required: false,
      },
      { name: 'headers', type: 'object', expected: 'an object' },
      { name: 'loud', type: 'boolean', expected: 'true or false' },
    ]);
    expect(completeOptions(type, { steps: 2, sizes: [1] }, 'here')).toEqual({
      problems: [],
      options: { rate: 0.5, steps: 2, mode: 'fast', tags: ['a'], sizes: [1], headers: {}, loud: false },
    });
    expect(completeOptions(type, { steps: 0, sizes: [0], loud: 1 }, 'here').problems).toHaveLength(3);
  });

  it('gives every instance its own defaults', () => {
    const type = fromDescription(description) as new () => { tags: string[] };
    new type().tags.push('b');
    expect(new type().tags).toEqual(['a']);
  });

  it.each([
    [{ type: 'numbr', description: 'x' }, '"type" is "numbr", expected one of number, integer'],
    [{ type: 'text' }, 'it has no "description"'],
    [{ description: 'x' }, 'it has no "type"'],
    [3, 'found 3, expected {type, description'],
    [{ type: 'text', description: 'x', defualt: 'y' }, 'unknown key "defualt". Did you mean default?'],
    [{ type: 'text', description: 'x', atLeast: 1 }, '"atLeast" is for numbers'],
    [{ type: 'integer', description: 'x', choices: ['1'] }, '"choices" are for texts'],
    [{ type: 'text', description: 'x', of: 'text' }, '"of" is for lists'],
    [{ type: 'text', description: 'x', required: true, default: 'y' }, 'what is required has no "default"'],
    [{ type: 'integer', description: 'x', atLeast: '1' }, '"atLeast" is "1", expected a number'],
  ])('refuses %j', (option, problem) => {
    expect(() => fromDescription({ clip: option as OptionDescription })).toThrow(
      `describes its option "clip" wrongly: ${problem}`,
    );
  });
});
