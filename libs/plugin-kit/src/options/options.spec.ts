import {
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsNumber,
  IsOptional,
  IsString,
  Matches,
  Min,
} from 'class-validator';
import { Above, Below, completeOptions, describeOptions, Doc, Fits, Group, withoutSecrets } from './index';

class Account {
  @Doc('who we are', { secret: true })
  @IsInt()
  account: number;

  @Doc('where')
  @IsOptional()
  @IsInt()
  address?: number;

  @Doc('a key')
  @IsOptional()
  @IsInt()
  api_key?: number;
}

class Inner {
  @Doc('how many')
  @IsInt()
  @Min(1)
  count = 4;
}

class Base {
  @Doc('a share')
  @IsNumber()
  @Min(0)
  @Below(1)
  dropout = 0;
}

class Options extends Base {
  @Doc('who')
  @IsString()
  @IsNotEmpty()
  who: string;

  @Doc('a bound')
  @IsOptional()
  @Above(1)
  bound?: number;

  @Doc('a kind')
  @IsIn(['a', 'b'])
  kind = 'a';

  @Doc('all of them')
  @IsArray()
  @ArrayNotEmpty()
  @IsIn(['x', 'y'], { each: true })
  sets = ['x'];

  @Doc('whether')
  @IsBoolean()
  flag = false;

  @Doc('a word')
  @IsOptional()
  @IsString()
  @Matches(/^w/)
  word?: string;

  @Doc('odd')
  @Fits('an odd number', (value) => typeof value === 'number' && value % 2 === 1)
  odd = 1;

  @Doc('more')
  @Group(() => Inner)
  inner: Inner;
}

const infoOf = (name: string) => describeOptions(Options).find((info) => info.name === name);
const problemsOf = (given: object) =>
  completeOptions(Options, given as Record<string, unknown>, 'here').problems.map(({ message }) => message);

describe('describeOptions', () => {
  it.each([
    [
      'dropout',
      { type: 'number', expected: 'a number of at least 0 and below 1', default: 0, required: false },
    ],
    ['dropout', { doc: 'a share' }],
    ['who', { type: 'text', expected: 'a text that is not empty', required: true, default: undefined }],
    ['bound', { type: 'number', expected: 'a number above 1', required: false }],
    ['kind', { type: 'text', expected: 'one of a, b', choices: ['a', 'b'], default: 'a' }],
    [
      'sets',
      { type: 'list', expected: 'a list that is not empty, each entry one of x, y', choices: ['x', 'y'] },
    ],
    ['flag', { type: 'boolean', expected: 'true or false' }],
    ['word', { type: 'text', expected: 'a text, which must match /^w/ regular expression' }],
    ['odd', { expected: 'an odd number' }],
    ['inner', { type: 'group', group: Inner, required: false }],
  ])('reads %s from its decorators and initializer: %j', (name, expected) => {
    expect(infoOf(name)).toMatchObject(expected);
  });

  it('keeps the order of the class, its ancestor first', () => {
    expect(describeOptions(Options).map(({ name }) => name)).toEqual([
      'dropout',
      'who',
      'bound',
      'kind',
      'sets',
      'flag',
      'word',
      'odd',
      'inner',
    ]);
  });

  it('understands decorators of another copy of class-validator', () => {
    let type: new () => object = class {};
    jest.isolateModules(() => {
      // oxlint-disable-next-line typescript/no-require-imports -- a separate copy
      const copy = require('class-validator') as typeof import('class-validator');
      expect(copy.IsInt).not.toBe(IsInt);
      // oxlint-disable-next-line typescript/no-require-imports -- a separate copy
      const kit = require('./index') as typeof import('./index');
      expect(kit.Doc).not.toBe(Doc);
      class Foreign {
        @kit.Doc('from elsewhere')
        @copy.IsInt()
        @kit.Below(10)
        count = 3;
      }
      type = Foreign;
    });
    expect(describeOptions(type)).toMatchObject([
      {
        name: 'count',
        doc: 'from elsewhere',
        type: 'integer',
        expected: 'a whole number below 10',
        default: 3,
      },
    ]);
    expect(completeOptions(type, { count: 11 }, 'here').problems).toHaveLength(1);
  });
});

describe('completeOptions', () => {
  it('gives an instance with every default', () => {
    const { options, problems } = completeOptions(Options, { who: 'ada', inner: { count: 2 } }, 'here');
    expect(problems).toEqual([]);
    expect(options).toBeInstanceOf(Options);
    expect(options).toEqual({
      dropout: 0,
      who: 'ada',
      kind: 'a',
      sets: ['x'],
      flag: false,
      odd: 1,
      inner: { count: 2 },
    });
    expect(options.inner).toBeInstanceOf(Inner);
    expect(completeOptions(Options, { who: 'ada', inner: null, bound: null }, 'here').options).toMatchObject({
      inner: { count: 4 },
    });
  });

  it('does not share defaults between instances', () => {
    const first = completeOptions(Options, { who: 'a' }, 'here').options;
    first.sets.push('y');
    expect(completeOptions(Options, { who: 'a' }, 'here').options.sets).toEqual(['x']);
  });

  it.each([
    [{ dropuot: 1 }, 'here: unknown option "dropuot". Did you mean dropout?'],
    [{ inner: { conut: 1 } }, 'here: unknown option "inner.conut". Did you mean count?'],
    [{ inner: 3 }, 'here: inner is a group of options such as count, found 3'],
    [{ dropout: 1 }, 'here: dropout is 1, expected a number of at least 0 and below 1 (a share)'],
    [{ dropout: Number.NaN }, 'here: dropout is null, expected a number of at least 0 and below 1 (a share)'],
    [{ dropout: null }, 'here: dropout is null, expected a number of at least 0 and below 1 (a share)'],
    [{ bound: 1 }, 'here: bound is 1, expected a number above 1 (a bound)'],
    [
      { sets: ['z'] },
      'here: sets is ["z"], expected a list that is not empty, each entry one of x, y (all of them)',
    ],
    [
      { sets: [] },
      'here: sets is [], expected a list that is not empty, each entry one of x, y (all of them)',
    ],
    [{ word: 'x' }, 'here: word is "x", expected a text, which must match /^w/ regular expression (a word)'],
    [{ inner: { count: 0 } }, 'here: inner.count is 0, expected a whole number of at least 1 (how many)'],
    [{ odd: 2 }, 'here: odd is 2, expected an odd number (odd)'],
  ])('refuses %j', (given, message) => {
    expect(problemsOf({ who: 'ada', ...given })).toEqual([message]);
  });

  it('names every problem at once, each where it was written', () => {
    const where = (path: string) => (path === 'flag' ? '--flag' : 'run.yaml');
    const { problems } = completeOptions(Options, { x: 1, flag: 'yes' }, { where, path: '' });
    expect(problems).toEqual([
      {
        category: 'unknown',
        path: 'x',
        message: expect.stringContaining('run.yaml: unknown option "x"') as string,
      },
      {
        category: 'missing',
        path: 'who',
        message: 'run.yaml: who is missing, expected a text that is not empty (who)',
      },
      { category: 'type', path: 'flag', message: '--flag: flag is "yes", expected true or false (whether)' },
    ]);
  });
});

describe('secrets', () => {
  it('are hidden where something is wrong with them', () => {
    const given = { account: 'me:hush', address: 'https://me:hush@h/?token=hush&x=1', api_key: 'hush' };
    const said = completeOptions(Account, given, 'here').problems.map(({ message }) => message);
    expect(said).toEqual([
      'here: account is [hidden], expected a whole number (who we are)',
      'here: address is "https://me:[hidden]@h/?token=[hidden]&x=1", expected a whole number (where)',
      'here: api_key is [hidden], expected a whole number (a key)',
    ]);
  });

  it.each([
    [
      { headers: { Authorization: 'Bearer hush', accept: 'x' } },
      { headers: { Authorization: '[hidden]', accept: 'x' } },
    ],
    [[{ db_password: 'hush' }], [{ db_password: '[hidden]' }]],
    ['see postgres://u:hush@h/d and nats://hush@h', 'see postgres://u:[hidden]@h/d and nats://[hidden]@h'],
    [
      { max_tokens: 5, tokenizer: 7 },
      { max_tokens: 5, tokenizer: 7 },
    ],
  ])('are hidden in %j', (value, shown) => {
    expect(withoutSecrets(value)).toEqual(shown);
  });

  it('are looked for in a long text without an address in a moment', () => {
    const name = 'a'.repeat(300_000);
    expect(withoutSecrets(`${name} https://me:hush@h`)).toBe(`${name} https://me:[hidden]@h`);
  });
});
