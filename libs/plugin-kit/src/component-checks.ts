import { existsSync, statSync } from 'node:fs';
import { COMPONENT_NAME } from '@ui-rl/contracts';
import { validateSync } from 'class-validator';
import { COMPONENT_KINDS, type ComponentKind } from './component-kind';
import { PluginError } from './errors';
import { ADVANTAGE_INPUTS, LOSS_INPUTS, type Component } from './kinds';
import { didYouMean } from './nearest';
import { describeOptions, fromDescription, type OptionsClass, type OptionsDescription } from './options';
import { isRecord, show } from './show';

const NAMES = 'lower-case words joined by "-" or "_"';

type Candidate = Record<string, unknown>;
/** Returns the fault of a component, or null. */
type Check = (candidate: Candidate) => string | null;

const CHECKS: Partial<Record<ComponentKind, Check[]>> = {
  'task-source': [
    functionIfAny('resolve'),
    functionIfAny('oracle'),
    checkEnvironment,
    checkPages,
    checkScripts,
  ],
  advantage: [
    listIfAny('inputs', ADVANTAGE_INPUTS),
    oneOfIfAny('gives', ['advantages', 'selection']),
    nameIfAny('defaultLoss'),
    countIfAny('minGroupSize'),
    booleanIfAny('learnsFromEveryGroup'),
  ],
  'policy-loss': [
    list('inputs', LOSS_INPUTS),
    oneOf('scope', ['token', 'sequence', 'pair']),
    nameIfAny('defaultAdvantage'),
  ],
  regularizer: [list('inputs', LOSS_INPUTS)],
  reward: [checkEnvironment, booleanIfAny('judgesWithoutVerifier')],
  verifier: [functionIfAny('judges')],
  tracker: [checkEnvironment],
  environment: [checkEnvironment, functionIfAny('isPhone')],
};

/**
 * The components that a module exports: `components` or `plugins` (a list) or `default` (one, or a list). Throws
 * `PluginError`.
 */
export function componentsOf(module: unknown, file: string): Component[] {
  const exported = exportedBy(module);
  const list: unknown[] = Array.isArray(exported) ? exported : [exported];
  if (exported === undefined || list.length === 0) {
    throw invalid(
      file,
      'must export a component as "default", or a list of them as "components", but exports none',
    );
  }
  return list.map((candidate, index) =>
    checkedComponent(candidate, list.length > 1 ? `${file} (component ${index})` : file),
  );
}

function exportedBy(module: unknown): unknown {
  if (!isRecord(module)) return undefined;
  const list = module.components ?? module.plugins;
  if (list !== undefined) return list;
  const value = module.default;
  // The default export of an ES module is one level deeper when seen from CommonJS.
  return isRecord(value) && value.kind === undefined && value.default !== undefined ? value.default : value;
}

function checkedComponent(candidate: unknown, where: string): Component {
  if (!isRecord(candidate)) throw invalid(where, `must export an object, found ${show(candidate)}`);
  const kind = candidate.kind as ComponentKind;
  if (!COMPONENT_KINDS.includes(kind)) {
    const hint = typeof kind === 'string' ? didYouMean(kind, COMPONENT_KINDS) : '';
    const expected = `expected one of ${COMPONENT_KINDS.join(', ')}`;
    throw invalid(where, `has kind ${show(candidate.kind)}, ${expected}.${hint}`);
  }
  if (!isName(candidate.name)) {
    throw invalid(where, `has name ${show(candidate.name)}, expected ${NAMES}`);
  }
  const checks = [checkDescription, needsFunction('create'), ...(CHECKS[kind] ?? []), checkOptions];
  for (const check of checks) {
    const problem = check(candidate);
    if (problem !== null) throw invalid(where, `(${kind} "${candidate.name}") ${problem}`);
  }
  return candidate as unknown as Component;
}

/**
 * The class of a component's options, built from the description if the component has one. Throws `PluginError` for
 * an invalid description.
 */
export function optionsClassOf({ options }: { options?: unknown }): OptionsClass {
  if (options === undefined) return class NoOptions {};
  return typeof options === 'function'
    ? (options as OptionsClass)
    : fromDescription(options as OptionsDescription);
}

/** Verifies that all options have help texts, and that their defaults pass their validators. */
function checkOptions(candidate: Candidate): string | null {
  const { options } = candidate;
  if (options !== undefined && typeof options !== 'function' && !isRecord(options)) {
    return `needs "options", a class or a description of its options, found ${show(options)}`;
  }
  try {
    const type = optionsClassOf(candidate);
    return (
      describeOptions(type)
        .map(checkOption)
        .find((problem) => problem !== null) ?? checkDefaults(type)
    );
  } catch (error) {
    return error instanceof PluginError ? error.message : `has options that cannot be made: ${String(error)}`;
  }
}

function checkOption({
  name,
  doc,
  type,
  expected,
}: ReturnType<typeof describeOptions>[number]): string | null {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) {
    return `has an option named ${show(name)}, expected lower-case words joined by "_"`;
  }
  if (name === 'name' || name === 'source_type')
    return `has an option named "${name}", which names the component`;
  if (type === 'any' && expected === 'any value') {
    return `has an option "${name}" without validators: nothing would check it`;
  }
  return doc === '' ? `has an option "${name}" without @Doc: add a description` : null;
}

function checkDefaults(type: OptionsClass): string | null {
  const infos = describeOptions(type);
  for (const { property } of validateSync(new type(), { forbidUnknownValues: false })) {
    const info = infos.find(({ name }) => name === property);
    if (info?.default === undefined) continue;
    return `has an option "${property}" whose default is ${show(info.default)}, expected ${info.expected}`;
  }
  return null;
}

function checkDescription({ description }: Candidate): string | null {
  const fits = description === undefined || isText(description);
  return fits ? null : `needs "description", a text, found ${show(description)}`;
}

function checkEnvironment({ environment }: Candidate): string | null {
  const fits =
    environment === undefined ||
    (isRecord(environment) &&
      Object.entries(environment).every(([name, help]) => /^[A-Z][A-Z0-9_]*$/.test(name) && isText(help)));
  return fits ? null : `needs "environment", variables with what each says, found ${show(environment)}`;
}

function checkPages({ pages, environment }: Candidate): string | null {
  if (pages === undefined) return null;
  if (!isRecord(pages)) return `has "pages" that is not an object, found ${show(pages)}`;
  for (const [page, where] of Object.entries(pages)) {
    if (!isName(page)) return `has a page named ${show(page)}, expected ${NAMES}`;
    if (isRecord(where)) {
      const { variable, fetched } = where;
      if (!isRecord(environment) || !Object.hasOwn(environment, String(variable)))
        return `has page "${page}" with ${show(where)}, expected "variable", one of its "environment"`;
      if (fetched === undefined || (isRecord(fetched) && isText(fetched.into) && isText(fetched.by)))
        continue;
      return `has page "${page}" with ${show(where)}, expected "fetched" with "into" and "by", or nothing`;
    }
    if (typeof where !== 'string') return `has page "${page}" with ${show(where)}, expected a folder`;
    if (statSync(where, { throwIfNoEntry: false })?.isDirectory() !== true) {
      return `has page "${page}" in ${where}, where there is no folder`;
    }
  }
  return null;
}

function checkScripts({ scripts }: Candidate): string | null {
  if (scripts === undefined) return null;
  if (!isRecord(scripts)) return `has "scripts" that is not an object, found ${show(scripts)}`;
  for (const [script, file] of Object.entries(scripts)) {
    if (!isName(script)) return `has a script named ${show(script)}, expected ${NAMES}`;
    if (typeof file !== 'string' || !existsSync(file)) {
      return `has script "${script}" with ${show(file)}, expected a file`;
    }
  }
  return null;
}

function needsFunction(key: string): Check {
  return (candidate) =>
    typeof candidate[key] === 'function' ? null : `needs a function "${key}", found ${show(candidate[key])}`;
}

function functionIfAny(key: string): Check {
  return ifAny(key, needsFunction(key));
}

function list(key: string, known: readonly string[]): Check {
  return ({ [key]: value }) => {
    const fits = Array.isArray(value) && value.every((entry) => known.includes(entry as string));
    return fits ? null : `needs "${key}", a list of ${known.join(', ')}, found ${show(value)}`;
  };
}

function listIfAny(key: string, known: readonly string[]): Check {
  return ifAny(key, list(key, known));
}

function oneOf(key: string, known: readonly string[]): Check {
  return ({ [key]: value }) =>
    known.includes(value as string)
      ? null
      : `needs "${key}", one of ${known.join(', ')}, found ${show(value)}`;
}

function oneOfIfAny(key: string, known: readonly string[]): Check {
  return ifAny(key, oneOf(key, known));
}

function nameIfAny(key: string): Check {
  return ifAny(key, ({ [key]: value }) =>
    isName(value) ? null : `needs "${key}", the name of a component, found ${show(value)}`,
  );
}

function countIfAny(key: string): Check {
  return ifAny(key, ({ [key]: value }) =>
    Number.isInteger(value) && (value as number) >= 1
      ? null
      : `needs "${key}", a whole number of at least 1, found ${show(value)}`,
  );
}

function booleanIfAny(key: string): Check {
  return ifAny(key, ({ [key]: value }) =>
    typeof value === 'boolean' ? null : `needs "${key}", true or false, found ${show(value)}`,
  );
}

function ifAny(key: string, check: Check): Check {
  return (candidate) => (candidate[key] === undefined ? null : check(candidate));
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && COMPONENT_NAME.test(value);
}

function invalid(where: string, problem: string): PluginError {
  return new PluginError('invalid', `plugin ${where} ${problem}`);
}
