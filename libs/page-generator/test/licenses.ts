import { join } from 'node:path';
import { ASSET_PACKAGES, installed } from '../src/look/assets';

export const LICENSES_FILE = join(__dirname, '../LICENSES.md');

/** The text of LICENSES.md: every installed package that provides fonts, icons or stylesheets for pages. */
export function licenseTable(): string {
  const rows = [...ASSET_PACKAGES]
    .sort((a, b) => a.localeCompare(b))
    .map((name) => {
      const at = installed(name);
      if (at === undefined) throw new Error(`${name} is not installed; run npm ci`);
      return `| ${name} | ${at.version} | ${at.license} |`;
    });
  return `# Licences of fonts, icons and stylesheets

Pages of the generator are drawn with these packages, which are development dependencies. UI-RL ships none of their
files. Written by \`node libs/testkit/run-ts.cjs libs/page-generator/test/licenses.main.ts\`.

| package | version | licence |
|---|---|---|
${rows.join('\n')}
`;
}
