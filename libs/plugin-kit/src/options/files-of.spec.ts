import { IsOptional } from 'class-validator';
import {
  Choice,
  completeOptions,
  describeOptions,
  Doc,
  filesOf,
  fromDescription,
  Group,
  LocalFile,
  type ComponentCatalogue,
} from './index';

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
