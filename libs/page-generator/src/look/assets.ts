import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Development dependencies: an installed package of UI-RL does not bring them. */
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

export const ICON_PACKAGES = ['feather', 'radix-icons', 'zondicons', 'lucide'];

export interface FontAsset {
  name: string;
  /** Names of files, unique among all packages. */
  regular: string;
  bold: string;
}

/** The fonts and icon sets that are installed here. */
export interface Assets {
  fonts: FontAsset[];
  /** File name → path. */
  fontPaths: Map<string, string>;
  iconSets: { name: string; path: string }[];
  /** Of their names and versions. */
  digest: string;
}

const { resolve } = createRequire(__filename);

/** Folder and version of a package; undefined where it is not installed. */
function installed(name: string): { folder: string; version: string } | undefined {
  try {
    const manifest = resolve(`${name}/package.json`);
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
    return { folder: dirname(manifest), version };
  } catch {
    return undefined;
  }
}

function findAssets(): Assets {
  const found: Assets = { fonts: [], fontPaths: new Map(), iconSets: [], digest: '' };
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
  found.digest = createHash('sha256').update(versions.join(' ')).digest('hex').slice(0, 12);
  return found;
}

let known: Assets | undefined;

/** Looked for once in a process. */
export function assets(): Assets {
  known ??= findAssets();
  return known;
}
