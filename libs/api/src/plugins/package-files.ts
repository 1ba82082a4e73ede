import type { ComponentKind } from '@ui-rl/plugin-kit';

export type Language = 'javascript' | 'typescript';

export interface PluginPackage {
  kind: ComponentKind;
  name: string;
  language: Language;
  /** Name of the folder it is written to. */
  folder: string;
  /** The lines of a run file that select the component. */
  choice: string;
}

const KIT = '@ui-rl/plugin-kit';

/** Compiles to CommonJS, which ui-rl loads. */
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

export function packageName({ kind, name }: Pick<PluginPackage, 'kind' | 'name'>): string {
  return `${kind}-${name}`;
}

/** The files of a plugin around its sources, by path. */
export function packageFiles(plugin: PluginPackage): Record<string, string> {
  const isTyped = plugin.language === 'typescript';
  return {
    'package.json': json(manifestOf(plugin)),
    'README.md': readmeOf(plugin),
    ...(isTyped ? { 'tsconfig.json': json(TSCONFIG) } : {}),
    '.gitignore': isTyped ? 'node_modules\ndist\n' : 'node_modules\n',
  };
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function manifestOf(plugin: PluginPackage): object {
  const common = { name: packageName(plugin), version: '0.1.0', private: true };
  if (plugin.language === 'javascript') {
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

/** Commands to run in the folder of the plugin before its test. */
export function preparationOf(language: Language): string[] {
  return language === 'typescript' ? ['npm install /path/to/ui-rl-plugin-kit-*.tgz'] : [];
}

function readmeOf(plugin: PluginPackage): string {
  const { kind, name, language, folder, choice } = plugin;
  const isTyped = language === 'typescript';
  const ending = isTyped ? 'ts' : 'js';
  const kit = `The types are in \`${KIT}\`. \`npm run pack:plugin-kit\` in the folder of ui-rl makes a package of it`;
  const types = isTyped
    ? `${kit}:\n\n\`\`\`sh\n${preparationOf(language).join('\n')}\nnpm test\n\`\`\`\n\n\`npm run build\` compiles the component to \`dist/\`, which ui-rl loads.`
    : `\`\`\`sh\nnpm test\n\`\`\`\n\n${kit}; only your editor needs it.`;
  return `# ${packageName(plugin)}

A component of ui-rl, kind \`${kind}\`, name \`${name}\`.

- src/index.${ending}: the component, with its options. src/index.test.${ending}: its test.

${types}

Select it in a run file by name:

\`\`\`yaml
plugins: [./${folder}]
${choice}
\`\`\`

\`npx ui-rl plugins --kind ${kind} ./${folder}\` lists it with its options.
`;
}
