import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { RecordsError } from './errors';
import { pendingMigrations, schemaDifference } from './migrate';

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

export interface MigrationDraft {
  /** `1795305600000-turns-with-several-actions.ts`. */
  file: string;
  /** `TurnsWithSeveralActions1795305600000`. */
  className: string;
  text: string;
}

/**
 * A migration from the migrated database to the entities; null if there is no difference.
 *
 * @param name of the change, in lower-case words joined by `-`
 * @throws RecordsError `configuration` for an invalid name, `migration` if migrations are pending: the draft would
 *   repeat their changes
 */
export async function draftMigration(
  dataSource: DataSource,
  name: string,
  now = new Date(),
): Promise<MigrationDraft | null> {
  if (!NAME.test(name)) {
    throw new RecordsError('configuration', `"${name}" is not a migration name, such as runs-with-owners`);
  }
  const pending = await pendingMigrations(dataSource);
  if (pending.length > 0) {
    throw new RecordsError('migration', `${pending.join(', ')} have not run yet: migrate the database first`);
  }
  const { up, down } = await schemaDifference(dataSource);
  if (up.length === 0) return null;
  const words = name.split('-').map((word) => word[0].toUpperCase() + word.slice(1));
  const className = `${words.join('')}${now.getTime()}`;
  return { file: `${now.getTime()}-${name}.ts`, className, text: textOf(className, up, down.toReversed()) };
}

/** Writes a draft into a folder of migrations; returns its path. */
export async function writeMigration(draft: MigrationDraft, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, draft.file);
  await writeFile(path, draft.text, { flag: 'wx' });
  return path;
}

function textOf(className: string, up: readonly string[], down: readonly string[]): string {
  const list = (statements: readonly string[]): string =>
    statements.map((statement) => `  \`${statement.replaceAll(/[\\`$]/g, String.raw`\$&`)}\`,\n`).join('');
  return `import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = [
${list(up)}];

const down = [
${list(down)}];

export class ${className} implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of up) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of down) await runner.query(statement);
  }
}
`;
}
