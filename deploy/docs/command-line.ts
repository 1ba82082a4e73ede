import type { Command } from 'commander';
import { page, type Page } from './markdown';
import { root } from './sources';

/** The help of every command, as printed. */
export function commandLinePage(program: Command): Page {
  return page('command-line.md', 'Command line', '`services/cli`', [
    'Every verb has `--help`, exits non-zero on failure, and has `--json` where it reports something.',
    ...program.commands.flatMap((command) => sections(command, 'npx ui-rl')),
  ]);
}

function sections(command: Command, parent: string): string[] {
  const path = `${parent} ${command.name()}`;
  const own = `## ${path.replace('npx ', '')}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\``;
  return [own, ...command.commands.flatMap((child) => sections(child, path))];
}

function helpOf(command: Command): string {
  let text = '';
  command.configureHelp({ helpWidth: 110 }).configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text.replaceAll(`${root}/`, '').trimEnd();
}
