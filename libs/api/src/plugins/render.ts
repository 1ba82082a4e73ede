import type { ComponentKind } from '@ui-rl/plugin-kit';
import { inLanguage, type Language, type Template } from './template';

export interface Named {
  kind: ComponentKind;
  name: string;
  language: Language;
  /** Name of the target folder. */
  folder: string;
}

/** The files of a plugin, by path. */
export function renderPlugin(template: Template, named: Named): Record<string, string> {
  const { language } = named;
  const text = (marked: string): string => `${inLanguage(marked, language, named.name).trim()}\n`;
  const ending = language === 'typescript' ? 'ts' : 'js';
  return {
    'package.json': `${JSON.stringify(manifestOf(template, named), null, 2)}\n`,
    'README.md': readmeOf(template, named),
    ...(language === 'typescript' ? { 'tsconfig.json': `${JSON.stringify(TSCONFIG, null, 2)}\n` } : {}),
    '.gitignore': language === 'typescript' ? 'node_modules\ndist\n' : 'node_modules\n',
    [`src/index.${ending}`]: text(componentText(template, named)),
    [`src/index.test.${ending}`]: text(testText(template, named)),
    ...template.files,
  };
}

const KIT = '@ui-rl/plugin-kit';

/** Compiles to a form that both CommonJS and ES modules can load. */
const TSCONFIG = {
  compilerOptions: {
    strict: true,
    target: 'es2022',
    module: 'nodenext',
    types: ['node'],
    rootDir: 'src',
    outDir: 'dist',
    skipLibCheck: true,
  },
  include: ['src'],
};

export function packageName({ kind, name }: Pick<Named, 'kind' | 'name'>): string {
  return `${kind}-${name}`;
}

function manifestOf({ description }: Template, named: Named): object {
  const common = { name: packageName(named), version: '0.1.0', private: true, description };
  if (named.language === 'javascript') {
    return { ...common, main: 'src/index.js', scripts: { test: 'node --test src/index.test.js' } };
  }
  return {
    ...common,
    main: 'dist/index.js',
    scripts: { build: 'tsc', test: 'tsc && node --test dist/index.test.js' },
    peerDependencies: { [KIT]: '*' },
    devDependencies: { '@types/node': '>=20', typescript: '>=5.5' },
  };
}

function componentText(template: Template, { kind, language }: Named): string {
  const { type, types, options, description, imports, before = '', members } = template;
  const isTyped = language === 'typescript';
  const generic = options === undefined ? '' : '<Options>';
  const head = isTyped
    ? [
        ...importsOf(imports?.component, language),
        `import type { ${[type, ...(types?.component ?? [])].toSorted().join(', ')} } from '${KIT}';`,
        ...(options === undefined ? [] : ['', `interface Options {\n  ${options}\n}`]),
      ]
    : importsOf(imports?.component, language);
  const declared = isTyped
    ? `const component: ${type}${generic} = {`
    : [
        ...(options === undefined
          ? []
          : [`/** @typedef {{ ${options.replaceAll(/\s+/g, ' ')} }} Options */`, '']),
        `/** @type {import('${KIT}').${type}${generic}} */`,
        'const component = {',
      ].join('\n');
  const body = [
    `  kind: '${kind}',`,
    `  name: 'NAME',`,
    `  description: '${description}',`,
    members.slice(1),
    '};',
  ];
  const last = isTyped ? 'export default component;' : 'module.exports.default = component;';
  return [...head, before, declared, ...body, '', last].join('\n');
}

function testText({ types, imports, test }: Template, { language }: Named): string {
  const typed = types?.test ?? [];
  const own =
    language === 'typescript'
      ? [
          "import assert from 'node:assert/strict';",
          "import test from 'node:test';",
          ...importsOf(imports?.test, language),
          ...(typed.length === 0 ? [] : [`import type { ${typed.join(', ')} } from '${KIT}';`]),
          "import component from './index.js';",
        ]
      : [
          "const assert = require('node:assert/strict');",
          "const test = require('node:test');",
          ...importsOf(imports?.test, language),
          "const { default: component } = require('./index.js');",
        ];
  return [...own, test].join('\n');
}

function importsOf(modules: Readonly<Record<string, string>> = {}, language: Language): string[] {
  return Object.entries(modules).map(([module, names]) =>
    language === 'typescript'
      ? `import { ${names} } from '${module}';`
      : `const { ${names} } = require('${module}');`,
  );
}

/** Commands to run in the plugin's folder before its test. */
export function preparationOf(language: Language): string[] {
  return language === 'typescript' ? ['npm install /path/to/ui-rl-plugin-kit-*.tgz'] : [];
}

function readmeOf(template: Template, named: Named): string {
  const { kind, name, language, folder } = named;
  const isTyped = language === 'typescript';
  const kit =
    'The types come from `@ui-rl/plugin-kit`, which `npm run pack:plugin-kit` in the folder of ui-rl makes a package of';
  const types = isTyped
    ? `${kit}:\n\n\`\`\`sh\n${preparationOf(language).join('\n')}\nnpm test\n\`\`\`\n\n\`npm run build\` compiles it into \`dist/\`, which ui-rl loads.`
    : `\`\`\`sh\nnpm test\n\`\`\`\n\n${kit}; nothing but editors needs them.`;
  return `# ${packageName(named)}

A component of ui-rl, kind \`${kind}\`, name \`${name}\`. ${template.description}

- src/index.${isTyped ? 'ts' : 'js'}: the component, with its options. src/index.test.${isTyped ? 'ts' : 'js'}: its test.

${types}

A run file chooses it by name:

\`\`\`yaml
plugins: [./${folder}]
${template.choice.replaceAll('NAME', name)}
\`\`\`

\`npx ui-rl plugins --kind ${kind} ./${folder}\` lists it with its options.
`;
}
