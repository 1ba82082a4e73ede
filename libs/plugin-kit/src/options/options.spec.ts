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
import {
  Above,
  Below,
  Choice,
  completeOptions,
  describeOptions,
  Doc,
  filesOf,
  Fits,
  fromDescription,
  Group,
  LocalFile,
  type ComponentCatalogue,
  type OptionDescription,
} from './index';

class Inner {
  @Doc('how many')
  @IsInt()
  @Min(1)
  count = 4;
}

class Base {
  @Doc('a share', { aliases: ['share'] })
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
    ['dropout', { aliases: ['share'], doc: 'a share' }],
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
      // oxlint-disable-next-line typescript/no-require-imports -- a copy of its own
      const copy = require('class-validator') as typeof import('class-validator');
      expect(copy.IsInt).not.toBe(IsInt);
      // oxlint-disable-next-line typescript/no-require-imports -- a copy of its own
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
    [{ inner: 3 }, 'here: inner is a group of options, found 3'],
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

describe('options with a choice', () => {
  class Ppo {
    @Doc('clips')
    @Above(0)
    clip = 0.2;
  }
  class Plain {}
  class Cosine {
    @Doc('down to')
    @IsNumber()
    floor = 0;
  }
  class Algorithm {
    @Doc('the loss')
    @Choice('policy-loss')
    loss: object = { name: 'plain' };

    @Doc('the schedule')
    @Choice('schedule', { optionsKey: 'schedule_options' })
    schedule: unknown = 'cosine';

    @Doc('the sources')
    @Choice('task-source', { many: true })
    tasks: unknown;
  }
  const classes: Record<string, Record<string, new () => object>> = {
    'policy-loss': { ppo: Ppo, plain: Plain },
    schedule: { cosine: Cosine },
    'task-source': { ids: Inner },
  };
  const components: ComponentCatalogue = {
    names: (kind) => Object.keys(classes[kind] ?? {}),
    optionsClass: (kind, name) => {
      const found = classes[kind]?.[name];
      if (found === undefined) throw new Error(`no ${kind} is named "${name}"`);
      return found;
    },
  };
  const complete = (given: object) =>
    completeOptions(Algorithm, { tasks: 'ids', ...given }, { where: 'here', components });

  it('completes what was chosen by its own class', () => {
    expect(complete({}).options).toEqual({
      loss: { name: 'plain' },
      schedule: { name: 'cosine', floor: 0 },
      tasks: [{ source_type: 'ids', count: 4 }],
    });
    expect(complete({ loss: { name: 'ppo', clip: 0.3 } }).options.loss).toEqual({ name: 'ppo', clip: 0.3 });
    expect(complete({ tasks: [{ source_type: 'ids', count: 1 }, 'ids'] }).options.tasks).toEqual([
      { source_type: 'ids', count: 1 },
      { source_type: 'ids', count: 4 },
    ]);
  });

  it('takes options beside the choice, and from the key for them', () => {
    expect(complete({ loss: 'ppo', clip: 0.3 }).options.loss).toEqual({ name: 'ppo', clip: 0.3 });
    expect(complete({ schedule_options: { floor: 1 } }).options.schedule).toEqual({
      name: 'cosine',
      floor: 1,
    });
    expect(complete({ clip: 0.2 })).toMatchObject({ problems: [], options: { loss: { name: 'plain' } } });
  });

  it.each([
    [{ loss: 'ppp' }, 'unknown', 'here: loss: no policy-loss is named "ppp"'],
    [
      { loss: 3 },
      'type',
      'here: loss is 3, expected the name of a policy-loss, or an object with name and its options (the loss)',
    ],
    [
      { tasks: { count: 1 } },
      'type',
      /^here: tasks is \{"count":1\}, expected the name of a task-source, or an object with source_type and its options, or a list of such/,
    ],
    [{ loss: 'ppo', clip: 0 }, 'type', 'here: loss.clip is 0, expected a number above 0 (clips)'],
    [{ clip: 0.3 }, 'conflict', 'here: clip would have no effect: it needs loss ppo'],
    [
      { loss: { name: 'plain', clip: 0.3 } },
      'unknown',
      'here: unknown option "loss.clip" of policy-loss plain. It is one of ppo.',
    ],
    [
      { loss: { name: 'ppo', clpi: 0.3 } },
      'unknown',
      'here: unknown option "loss.clpi" of policy-loss ppo. Did you mean clip?',
    ],
    [{ loss: { name: 'ppo', clip: 0.3 }, clip: 0.4 }, 'conflict', 'here: loss.clip is given twice'],
    [
      { tasks: [{ source_type: 'ids', count: 0 }] },
      'type',
      'here: tasks[0].count is 0, expected a whole number of at least 1 (how many)',
    ],
    [{ colour: 1 }, 'unknown', /^here: unknown option "colour"/],
  ])('refuses %j', (given, category, message) => {
    expect(complete(given).problems).toEqual([
      expect.objectContaining({
        category,
        message: typeof message === 'string' ? message : (expect.stringMatching(message) as string),
      }),
    ]);
  });

  it('refuses an option that may belong to several of them', () => {
    class Two {
      @Doc('one')
      @Choice('policy-loss')
      one = 'ppo';

      @Doc('two')
      @Choice('policy-loss')
      two = 'ppo';
    }
    const { problems } = completeOptions(Two, { clip: 1 }, { where: 'here', components });
    expect(problems.map(({ message }) => message)).toEqual([
      'here: clip may mean one.clip or two.clip: say which',
    ]);
  });

  it('says where an option was written that stands beside its choice', () => {
    const where = (path: string) => `at ${path}`;
    const { problems } = completeOptions(
      Algorithm,
      { loss: 'ppo', clip: -1, tasks: 'ids' },
      { where, components },
    );
    expect(problems[0].message).toMatch(/^at clip: loss\.clip is -1/);
  });
});

describe('fromDescription', () => {
  const description = {
    rate: { type: 'number', description: 'a rate', default: 0.5, above: 0, atMost: 1, aliases: ['r'] },
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
        aliases: ['r'],
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

  it('gives every instance defaults of its own', () => {
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

describe('options that name files', () => {
  const sha256 = 'a'.repeat(64);
  const checkpoint = 'uirl://run/sampler_weights/000080';
  class WithFile {
    @Doc('what is read')
    @LocalFile()
    path: string;
  }
  class WithFolders {
    @Doc('a folder')
    @IsOptional()
    @LocalFile({ kind: 'folder', checkpoints: true })
    weights?: string;

    @Doc('sources')
    @Choice('task-source', { many: true })
    sources: unknown[] = [];

    @Doc('inner')
    @Group(() => WithFile)
    inner: WithFile;
  }
  const described = fromDescription({
    files: { type: 'list', of: 'file', description: 'several' },
    folder: { type: 'folder', description: 'one' },
  });
  const catalogue: ComponentCatalogue = {
    names: () => ['file', 'described'],
    optionsClass: (_, name) => (name === 'file' ? WithFile : described),
  };

  it('say so, declared by a class as well as described', () => {
    expect(describeOptions(WithFile)).toMatchObject([
      {
        type: 'file',
        expected: 'the path of a file',
        required: true,
        file: { kind: 'file', many: false, checkpoints: false },
      },
    ]);
    expect(describeOptions(WithFolders)[0]).toMatchObject({
      type: 'folder',
      expected: 'the path of a folder, or an address such as uirl://<run>/sampler_weights/000080',
      required: false,
    });
    expect(describeOptions(described)).toMatchObject([
      { type: 'list', expected: 'a list, each entry the path of a file', file: { kind: 'file', many: true } },
      { type: 'folder', file: { kind: 'folder', many: false } },
    ]);
  });

  it.each([
    ['./tasks.yaml', true],
    [`uirl://file/${sha256}/tasks.yaml`, true],
    [`uirl://folder/${sha256}/tasks`, false],
    ['uirl://file/123/tasks.yaml', false],
    [checkpoint, false],
    ['', false],
    [3, false],
  ])('take a path, or an address of the right kind: %j', (path, fits) => {
    expect(completeOptions(WithFile, { path }, 'here').problems).toHaveLength(fits ? 0 : 1);
  });

  it('are found wherever they stand, and can be replaced', () => {
    const given = {
      weights: checkpoint,
      inner: { path: 'x' },
      sources: [
        { source_type: 'file', path: `uirl://file/${sha256}/a` },
        { source_type: 'described', files: ['b', 'c'] },
      ],
    };
    const { options, problems } = completeOptions(WithFolders, given, {
      where: 'here',
      components: catalogue,
    });
    expect(problems).toEqual([]);
    const found = filesOf(WithFolders, options, catalogue);
    expect(found.map(({ option, kind, isAddress }) => [option, kind, isAddress])).toEqual([
      ['weights', 'folder', true],
      ['sources[0].path', 'file', true],
      ['sources[1].files[0]', 'file', false],
      ['sources[1].files[1]', 'file', false],
      ['inner.path', 'file', false],
    ]);
    for (const file of found.filter(({ isAddress }) => !isAddress)) file.replace(`/copy/${file.value}`);
    expect(options).toMatchObject({
      sources: [{ path: `uirl://file/${sha256}/a` }, { files: ['/copy/b', '/copy/c'] }],
      inner: { path: '/copy/x' },
    });
  });
});
