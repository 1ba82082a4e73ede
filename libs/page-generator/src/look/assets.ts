import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Development dependencies, which an installed UI-RL package does not include. */
const FONT_PACKAGES = [
  'arimo',
  'tinos',
  'cousine',
  'inter',
  'roboto',
  'open-sans',
  'lato',
  'merriweather',
  'nunito',
  'source-code-pro',
  'fira-sans',
  'comic-neue',
];

/** Packages of stylesheets for plain HTML. */
const KIT_PACKAGES = [
  'water.css',
  'sakura.css',
  'mvp.css',
  'simpledotcss',
  'milligram',
  'spectre.css',
  'purecss',
  'bootstrap',
  '@exampledev/new.css',
  'chota',
  'tacit-css',
  '98.css',
  '7.css',
  'nes.css',
  'picnic',
  'papercss',
  'terminal.css',
  'marx-css',
];

const ICON_PACKAGES = ['feather', 'radix-icons', 'zondicons', 'lucide'];

export interface FontAsset {
  name: string;
  /** File names, unique among all packages. */
  regular: string;
  bold: string;
}

/** The installed fonts and icon sets. */
export interface Assets {
  fonts: FontAsset[];
  /** File name → path. */
  fontPaths: Map<string, string>;
  iconSets: { name: string; path: string }[];
  /** Name of a stylesheet package → its folder. */
  kitFolders: Map<string, string>;
  /** Digest of their names and versions. */
  digest: string;
}

/** The npm names of every package that provides fonts, icons or stylesheets for pages. */
export const ASSET_PACKAGES: readonly string[] = [
  ...FONT_PACKAGES.map((name) => `@fontsource/${name}`),
  ...ICON_PACKAGES.map((name) => `@iconify-json/${name}`),
  ...KIT_PACKAGES,
];

const { resolve } = createRequire(__filename);

/** The folder of a package, with its version and license; undefined if it is not installed. */
export function installed(name: string): { folder: string; version: string; license: string } | undefined {
  const folder = (resolve.paths(name) ?? [])
    .map((each) => join(each, name))
    .find((each) => existsSync(join(each, 'package.json')));
  if (folder === undefined) return undefined;
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    version: string;
    license: string;
  };
  return { folder, version: manifest.version, license: manifest.license };
}

function findAssets(): Assets {
  const found: Assets = { fonts: [], fontPaths: new Map(), iconSets: [], kitFolders: new Map(), digest: '' };
  const versions: string[] = [];
  for (const name of FONT_PACKAGES) {
    const at = installed(`@fontsource/${name}`);
    if (at === undefined) continue;
    const [regular, bold] = [400, 700].map((weight) => `${name}-latin-${weight}-normal.woff2`);
    for (const file of [regular, bold]) found.fontPaths.set(file, join(at.folder, 'files', file));
    found.fonts.push({ name: `${name}-p`, regular, bold });
    versions.push(`${name}@${at.version}`);
  }
  for (const name of ICON_PACKAGES) {
    const at = installed(`@iconify-json/${name}`);
    if (at === undefined || !existsSync(join(at.folder, 'icons.json'))) continue;
    found.iconSets.push({ name, path: join(at.folder, 'icons.json') });
    versions.push(`${name}@${at.version}`);
  }
  for (const name of KIT_PACKAGES) {
    const at = installed(name);
    if (at === undefined) continue;
    found.kitFolders.set(name, at.folder);
    versions.push(`${name}@${at.version}`);
  }
  found.digest = createHash('sha256').update(versions.join(' ')).digest('hex').slice(0, 12);
  return found;
}

let known: Assets | undefined;

/** Searched once per process. */
export function assets(): Assets {
  known ??= findAssets();
  return known;
}
