import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import imports from '../local/import-table.json';
import { root } from './sources';

/** Libs, services and plugins without a README, and texts whose import tables differ from the enforced one. */
export function architectureProblems(): string[] {
  const page = readFileSync(join(root, 'docs/concepts/architecture.md'), 'utf8');
  const rows = Object.entries(imports as Record<string, string | string[]>).map(([lib, allowed]) => {
    const said = new RegExp(`^\\| ${lib} \\|.*\\| ([^|]*) \\|$`, 'm').exec(page)?.[1];
    return compare(`docs/concepts/architecture.md, ${lib}`, said, listOf(allowed, 'any', '–'));
  });
  const lines = Object.entries(imports as Record<string, string | string[]>).map(([lib, allowed]) => {
    const said = /May import: ([^.]*)\./.exec(readme('libs', lib))?.[1];
    return compare(`libs/${lib}/README.md`, said, listOf(allowed, 'any lib', 'nothing'));
  });
  return [...missingReadmes(), ...rows.flat(), ...lines.flat()];
}

function compare(where: string, said: string | undefined, enforced: string): string[] {
  if (said === enforced) return [];
  return [`${where}: may import "${said ?? ''}", but deploy/local/import-table.json says "${enforced}"`];
}

function listOf(allowed: string | readonly string[], any: string, none: string): string {
  if (typeof allowed === 'string') return any;
  return allowed.length === 0 ? none : allowed.join(', ');
}

function missingReadmes(): string[] {
  return ['libs', 'services', 'plugins'].flatMap((kind) =>
    readdirSync(join(root, kind), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && readme(kind, entry.name) === '')
      .map(
        ({ name }) =>
          `${kind}/${name} has no README.md: what it is, its most important files, what it must not do`,
      ),
  );
}

function readme(kind: string, name: string): string {
  const file = join(root, kind, name, 'README.md');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
