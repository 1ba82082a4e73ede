// Writes docs/reference and the users of deploy/nats from the code (`npm run docs`). With `--check`, reports stale
// files, broken links, and import tables that differ from the enforced one (`npm run docs:check`).
import './clean-environment';
import 'reflect-metadata';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accountsConfiguration } from '@ui-rl/bus';
import { loadComponents } from '@ui-rl/plugin-kit';
import { programWith } from '../../services/cli/src/program';
import { commandLinePage } from './command-line';
import { architectureProblems } from './architecture';
import { httpPage } from './http';
import { deadLinks, markdownFiles } from './links';
import type { Page } from './markdown';
import { messagesPage } from './messages';
import { componentsPage, runFilePage } from './run-file';
import { root } from './sources';
import { environmentPage, metricsPage, retriesPage } from './tables';

const folder = join(root, 'docs/reference');
const accounts = join(root, 'deploy/nats/accounts.conf');

async function pages(): Promise<Page[]> {
  const registry = await loadComponents();
  return [
    runFilePage(registry),
    componentsPage(registry),
    commandLinePage(programWith()),
    environmentPage(),
    messagesPage(),
    metricsPage(),
    httpPage(),
    retriesPage(),
  ];
}

function write(all: readonly Page[]): void {
  mkdirSync(folder, { recursive: true });
  const names = new Set(all.map(({ file }) => file));
  for (const old of readdirSync(folder)) if (!names.has(old)) rmSync(join(folder, old));
  for (const { file, text } of all) writeFileSync(join(folder, file), text);
  writeFileSync(accounts, accountsConfiguration());
}

function problemsOf(all: readonly Page[]): string[] {
  const stale = all
    .filter(({ file, text }) => contentOf(join(folder, file)) !== text)
    .map(({ file }) => file);
  const left = readdirSync(folder).filter((file) => !all.some((each) => each.file === file));
  return [
    ...stale.map((file) => `docs/reference/${file} is stale: run "npm run docs" and commit what it writes`),
    ...(contentOf(accounts) === accountsConfiguration()
      ? []
      : ['deploy/nats/accounts.conf is stale: run "npm run docs" and commit what it writes']),
    ...left.map((file) => `docs/reference/${file} is written by nothing any more: run "npm run docs"`),
    ...architectureProblems(),
    ...markdownFiles().flatMap(deadLinks),
  ];
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

async function main(): Promise<number> {
  const all = await pages();
  if (!process.argv.includes('--check')) {
    write(all);
    return 0;
  }
  const problems = problemsOf(all);
  for (const problem of problems) console.error(problem);
  return problems.length === 0 ? 0 : 1;
}

main().then(
  (status) => process.exit(status),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
