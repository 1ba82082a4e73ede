import { missingComponent, type ComponentRegistry } from '@ui-rl/plugin-kit';

/**
 * What to type where services were started that lack components, as they said: the modules are known here alone, since no message
 * names one. Undefined where they lack none that this run file has.
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
