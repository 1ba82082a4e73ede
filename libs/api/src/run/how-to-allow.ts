import { missingComponent, type ComponentRegistry } from '@ui-rl/plugin-kit';

/**
 * The command that starts services with the components that they reported as missing. Only this process knows the
 * modules, because no message names them. Undefined if no component of this run file is missing.
 */
export function howToAllow(said: string, registry: ComponentRegistry): string | undefined {
  const lacking = registry
    .all()
    .filter(({ component: { kind, name } }) => said.includes(missingComponent(kind, name)))
    .map(({ file }) => file)
    .filter((file) => registry.files.includes(file));
  if (lacking.length === 0) return undefined;
  const modules = [...new Set(lacking)].join(',');
  return `allow it where the services are started: npx ui-rl up --plugins ${quoted(modules)}`;
}

function quoted(text: string): string {
  return /^[\w./:@,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
