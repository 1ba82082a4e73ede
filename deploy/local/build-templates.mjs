// Writes the component templates for `ui-rl plugins new` to dist/plugin-templates/<language>/<kind>: in TypeScript as
// in libs/api/templates, and in JavaScript with the types as comments.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import ts from 'typescript';
import { root } from './tools.mjs';

const COMPONENT = /^const component: (\w+)(<Options>)? = /m;
const OPTIONS = /^interface Options (\{[^}]*\})$/m;

/** Converts the types of a component to comments, which editors and TypeScript's `checkJs` read. */
function withTypeComments(source) {
  const options = OPTIONS.exec(source)?.[1].replaceAll(/\s+/g, ' ');
  const typedef = options === undefined ? '' : `/** @typedef {${options}} Options */\n`;
  return source.replace(
    COMPONENT,
    (whole, type, generic = '') =>
      `${typedef}/** @type {import('@ui-rl/plugin-kit').${type}${generic}} */\n${whole}`,
  );
}

/** Converts imports and exports of an ES module to CommonJS. */
function asCommonJs(text) {
  return text
    .replaceAll(/^import component from (.*);$/gm, 'const { default: component } = require($1);')
    .replaceAll(/^import (.*) from (.*);$/gm, 'const $1 = require($2);')
    .replace('export default component;', 'module.exports.default = component;');
}

/** Placeholder for an empty line, which the compiler would drop. */
const BLANK = '//blank';

async function javascript(source) {
  const { outputText } = ts.transpileModule(withTypeComments(source).replaceAll(/^$/gm, BLANK), {
    compilerOptions: { target: 'es2022', module: 'esnext' },
  });
  return format(asCommonJs(outputText).replaceAll(/^\s*\/\/blank$/gm, ''), {
    parser: 'babel',
    singleQuote: true,
    printWidth: 110,
  });
}

const templates = join(root, 'libs/api/templates');
const dist = join(root, 'dist/plugin-templates');
rmSync(dist, { recursive: true, force: true });
cpSync(templates, join(dist, 'typescript'), { recursive: true });
for (const kind of readdirSync(templates)) {
  const folder = join(dist, 'javascript', kind);
  mkdirSync(join(folder, 'src'), { recursive: true });
  for (const name of ['index', 'index.test']) {
    const source = readFileSync(join(templates, kind, `src/${name}.ts`), 'utf8');
    writeFileSync(join(folder, `src/${name}.js`), await javascript(source));
  }
  for (const entry of readdirSync(join(templates, kind))) {
    if (entry !== 'src') cpSync(join(templates, kind, entry), join(folder, entry), { recursive: true });
  }
}
