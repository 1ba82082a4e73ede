/*
 * oxlint-disable typescript/no-require-imports -- loads only the requested command: loading all of them delays the
 * start by two seconds
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';

/** In the order of `--help`. */
const VERBS: Readonly<Record<string, () => Command>> = {
  quickstart: () =>
    (require('./commands/quickstart') as typeof import('./commands/quickstart')).quickstartCommand(),
  setup: () => (require('./commands/setup') as typeof import('./commands/setup')).setupCommand(),
  up: () => (require('./commands/up') as typeof import('./commands/up')).upCommand(),
  train: () => (require('./commands/train') as typeof import('./commands/train')).trainCommand(),
  try: () => (require('./commands/try') as typeof import('./commands/try')).tryCommand(),
  eval: () => (require('./commands/eval') as typeof import('./commands/eval')).evalCommand(),
  monitor: () => (require('./commands/monitor') as typeof import('./commands/monitor')).monitorCommand(),
  runs: () => (require('./commands/runs') as typeof import('./commands/runs')).runsCommand(),
  episodes: () => (require('./commands/episodes') as typeof import('./commands/episodes')).episodesCommand(),
  tasks: () => (require('./commands/tasks') as typeof import('./commands/tasks')).tasksCommand(),
  plugins: () => (require('./commands/plugins') as typeof import('./commands/plugins')).pluginsCommand(),
  doctor: () => (require('./commands/doctor') as typeof import('./commands/doctor')).doctorCommand(),
  db: () => (require('./commands/db') as typeof import('./commands/db')).dbCommand(),
  score: () => (require('./commands/score') as typeof import('./commands/score')).scoreCommand(),
  generate: () => (require('./commands/generate') as typeof import('./commands/generate')).generateCommand(),
  serve: () => (require('./commands/serve') as typeof import('./commands/serve')).serveCommand(),
  export: () => (require('./commands/export') as typeof import('./commands/export')).exportCommand(),
  models: () => (require('./commands/models') as typeof import('./commands/models')).modelsCommand(),
  bench: () => (require('./commands/bench') as typeof import('./commands/bench')).benchCommand(),
  pretrain: () => (require('./commands/pretrain') as typeof import('./commands/pretrain')).pretrainCommand(),
};

function version(): string {
  const places = ['../../..', '../../../..'].map((folder) => join(__dirname, folder, 'package.json'));
  const { version: own } = JSON.parse(readFileSync(places.find(existsSync)!, 'utf8')) as { version: string };
  return own;
}

/** The program with the requested command, or with all of them if none is given, as for `--help`. */
export function programWith(verb?: string): Command {
  const program = new Command('ui-rl')
    .description('Train vision-language models to operate user interfaces, with reinforcement learning')
    .version(version(), '-V, --version', 'print the version')
    .showHelpAfterError('(--help lists the options)');
  const asked = verb !== undefined && Object.hasOwn(VERBS, verb) ? [verb] : Object.keys(VERBS);
  for (const name of asked) program.addCommand(VERBS[name]());
  return program;
}

/** The run file only knows its own options: if a flag is not one of them, the command's flags are also candidates. */
export function withOwnFlags(message: string, program: Command): string {
  const own = program.commands.flatMap(({ options }) => options.flatMap(({ long }) => long ?? []));
  return message.replaceAll(
    /unknown option (--[\w-]+)\.(?: Did you mean ([^?]+)\?| See --help for all)/g,
    (all: string, written: string, others?: string) => {
      const { nearest } = require('@ui-rl/plugin-kit') as typeof import('@ui-rl/plugin-kit');
      const meant = [...nearest(written, own, 1), ...(others?.split(' or ') ?? [])];
      return meant.length === 0 ? all : `unknown option ${written}. Did you mean ${meant.join(' or ')}?`;
    },
  );
}
