import { IsInt, IsNumber, Min } from 'class-validator';
import { Above, Choice, completeOptions, Doc, type ComponentCatalogue } from './index';

describe('options with a choice', () => {
  class Ppo {
    @Doc('clips')
    @Above(0)
    clip = 0.2;
  }
  class Plain {}
  class Ids {
    @Doc('how many')
    @IsInt()
    @Min(1)
    count = 4;
  }
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
    @Choice('schedule')
    schedule: unknown = 'cosine';

    @Doc('the sources')
    @Choice('task-source', { many: true })
    tasks: unknown;
  }
  const classes: Record<string, Record<string, new () => object>> = {
    'policy-loss': { ppo: Ppo, plain: Plain },
    schedule: { cosine: Cosine },
    'task-source': { ids: Ids },
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

  it('takes options without a name for those of the default', () => {
    expect(complete({ schedule: { floor: 1 } }).options.schedule).toEqual({ name: 'cosine', floor: 1 });
    expect(complete({ loss: { name: undefined } }).options.loss).toEqual({ name: 'plain' });
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
    [{ loss: { name: 'ppo', clip: 0 } }, 'type', 'here: loss.clip is 0, expected a number above 0 (clips)'],
    [
      { loss: { clip: 0.3 } },
      'unknown',
      'here: unknown option "loss.clip" of policy-loss plain. It is one of ppo.',
    ],
    [{ loss: 'ppo', clip: 0.3 }, 'unknown', /^here: unknown option "clip"/],
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
});
