import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents } from '@ui-rl/plugin-kit';
import { ALIASES, aliasInWords, loadRunFile, SettingsError } from '@ui-rl/settings';
import type { Command, Option } from 'commander';
import { programWith } from '../../services/cli/src/program';
import { commands, examples, fileName, root, type Example } from './examples';

const scripts = Object.keys(
  (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }).scripts,
);
const program = programWith();
const services = readdirSync(join(root, 'services'));

let folder: string;

/** All plugin files of the guides in one folder, with the page that one of them shows. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-docs-'));
  mkdirSync(join(folder, 'counter'));
  mkdirSync(join(folder, 'tasks'));
  const [page] = examples('html');
  writeFileSync(join(folder, 'counter', 'index.html'), page.text);
  for (const file of examples('jsonl')) writeFileSync(join(folder, 'tasks.jsonl'), file.text);
  // `ui-rl episodes export` writes it; reading a run file only checks that it exists.
  writeFileSync(join(folder, 'episodes.jsonl'), '');
  for (const file of examples('js')) writeFileSync(join(folder, fileName(file)), file.text);
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Plugin files; the others are scripts. */
const plugins = () => examples('js').filter(({ text }) => text.includes('module.exports'));

/** Every example with a title that names its page. */
function cases(language: string, all = examples(language)): [title: string, example: Example][] {
  return all.map((example, index) => [`${example.page} #${index}`, example]);
}

describe('commands', () => {
  it.each(cases('sh'))('of %s exist, with their options', async (_, example) => {
    for (const words of commands(example)) {
      expect({ words, problem: await problemOf(words) }).toEqual({ words, problem: null });
    }
  });
});

/** The problem of a command, as far as it can be determined without running it. */
async function problemOf([first, second, ...rest]: string[]): Promise<string | null> {
  if (first === 'npx' && second === 'ui-rl') return problemOfVerb(program, rest);
  if (first === 'node' && second.startsWith('dist/services/')) {
    const [, service] = /^dist\/services\/([a-z-]+)\/src\/main\.js$/.exec(second) ?? [];
    return services.includes(service) ? null : `no service ${second}`;
  }
  if (first === 'npm' && second === 'run') return scripts.includes(rest[0]) ? null : `no script ${rest[0]}`;
  if (first === 'node')
    return existsSync(join(root, second)) || existsSync(join(folder, second)) ? null : `no file ${second}`;
  const all = [second, ...rest];
  if (first === 'docker' && all.includes('ui-rl'))
    return problemOfVerb(program, all.slice(all.indexOf('ui-rl') + 1));
  const containers = ['docker', 'podman', 'podman-compose', 'debootstrap', 'tar', 'cp', 'ln'];
  const clusters = ['gcloud', 'kubectl', 'for'];
  const known = [
    'npm',
    'npx',
    'nats',
    'nats-server',
    'export',
    'curl',
    'git',
    'adb',
    ...containers,
    ...clusters,
  ];
  return known.includes(first) ? null : `unknown command ${first}`;
}

async function problemOfVerb(command: Command, words: string[]): Promise<string | null> {
  const child = command.commands.find((each) => each.name() === words[0]);
  if (child !== undefined) return problemOfVerb(child, words.slice(1));
  if (command === program) return `no verb ${words[0]}`;
  const flags = unknownFlags(command, words);
  if (flags.length === 0) return null;
  const takesRunOptions = command.registeredArguments.some((argument) => argument.name() === 'options');
  if (!takesRunOptions) return `${command.name()} has no option ${flags[0]}`;
  return problemOfRunOptions(flags);
}

/** Unknown flags of a command, with their values. */
function unknownFlags(command: Command, words: readonly string[]): string[] {
  const unknown: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    if (!words[index].startsWith('--')) continue;
    const option = optionOf(command, words[index]);
    const value = words[index + 1]?.startsWith('--') === false ? words[index + 1] : undefined;
    if (option === undefined) unknown.push(words[index], ...(value === undefined ? [] : [value]));
    if (value !== undefined && option?.isBoolean() !== true) index += 1;
  }
  return unknown;
}

function optionOf(command: Command, flag: string): Option | undefined {
  const name = flag.split('=')[0];
  return command.options.find(({ long, short }) => long === name || short === name);
}

/** Unknown options of the run file, and aliases. Other problems of a run that is described only by flags are ignored. */
async function problemOfRunOptions(flags: string[]): Promise<string | null> {
  const alias = flags.find((flag) => Object.hasOwn(ALIASES, flag.slice(2).replaceAll('-', '_')));
  if (alias !== undefined) return `${alias} is an alias of --${aliasInWords(alias.slice(2))}`;
  try {
    await loadRunFile({ flags });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const unknown = error.problems.find(({ category }) => ['unknown', 'unsupported'].includes(category));
    return unknown?.message ?? null;
  }
  return null;
}

it.each(cases('js'))('the file of %s is JavaScript', (_, example) => {
  const { stderr } = spawnSync(process.execPath, ['--check', join(folder, fileName(example))], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
});

it.each(cases('js', plugins()))('the plugin of %s is one', async (_, example) => {
  const file = fileName(example);
  const { files } = await loadComponents({ packages: [`./${file}`], from: folder });
  expect(files).toEqual([join(folder, file)]);
});

it.each(cases('yaml'))('the run file of %s is read', async (_, example) => {
  const file = join(folder, 'run.yaml');
  writeFileSync(file, example.text);
  const { run, notes } = await loadRunFile({ file });
  expect(run.tasks.length).toBeGreaterThan(0);
  // One example shows aliases.
  expect(notes.length).toBe(example.text.includes('\nactor:') ? 1 : 0);
});
