import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, relative, resolve, sep } from 'node:path';
import { ComponentRegistry, type TaskSourceComponent } from '@ui-rl/plugin-kit';
import { TryFailure } from './failure';

/** The user's page. */
export type PageTarget =
  | { kind: 'url'; url: string; origin: string }
  | { kind: 'folder'; folder: string; page: string; path: string | undefined };

const PAGE_NAME = /[^a-z0-9]+/g;

/** Scripts, styles and pictures that a page references by paths outside its folder. */
const ABOVE = /<(?:script|link|img)\b[^>]*?\b(?:src|href)\s*=\s*["']?((?:\.\/)*\.\.\/[^"'\s>?#]+)/gi;

/**
 * Parses an address, a folder with an index.html, or an .html file.
 *
 * @param root folder to serve in place of the page's own folder, which must be inside it
 * @throws TryFailure
 */
export function readPageTarget(given: string, workingDir = process.cwd(), root?: string): PageTarget {
  if (/^https?:\/\//i.test(given)) {
    if (root !== undefined)
      throw new TryFailure('--root is for pages of this machine, and not for addresses');
    return readUrl(given);
  }
  const target = readFile(given, workingDir);
  return root === undefined ? alone(target) : within(target, resolve(workingDir, root));
}

type FolderTarget = Extract<PageTarget, { kind: 'folder' }>;

function readFile(given: string, workingDir: string): FolderTarget {
  const path = resolve(workingDir, given);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new TryFailure(missing(given, path));
  if (found.isDirectory()) {
    if (existsSync(`${path}/index.html`)) return folderTarget(path, undefined);
    throw new TryFailure(
      `${path} has no index.html: name the .html file that is to be opened, or another folder`,
    );
  }
  if (/\.x?html?$/i.test(path)) return folderTarget(dirname(path), basename(path));
  throw new TryFailure(
    `${path} is not a page: expected an http or https address, a folder with index.html, or an .html file`,
  );
}

/** A page is served from its own folder: references to files above it would fail, mostly silently. */
function alone(target: FolderTarget): FolderTarget {
  const { folder, path = 'index.html' } = target;
  const used = [...readFileSync(resolve(folder, path), 'utf8').matchAll(ABOVE)].map(([, named]) => named);
  const above = used.filter((named) => isAbove(resolve(folder, named), folder));
  if (above.length === 0) return target;
  const [name] = above;
  throw new TryFailure(
    `${path} uses what lies above its folder, such as ${name}: --root ${commonFolder(folder, above)} lets the page have it`,
  );
}

function isAbove(file: string, folder: string): boolean {
  return existsSync(file) && !`${file}${sep}`.startsWith(`${folder}${sep}`);
}

/** The nearest folder that contains both the folder and all paths referenced from it. */
function commonFolder(folder: string, named: readonly string[]): string {
  let common = folder;
  while (
    named.some((name) => !resolve(folder, name).startsWith(`${common}${sep}`)) &&
    dirname(common) !== common
  )
    common = dirname(common);
  return common;
}

function within({ folder, path = 'index.html' }: FolderTarget, root: string): FolderTarget {
  const file = resolve(folder, path);
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new TryFailure(`--root: there is no folder ${root}`);
  if (!file.startsWith(`${root}${sep}`)) throw new TryFailure(`--root: ${file} does not lie in ${root}`);
  return folderTarget(root, relative(root, file).split(sep).join('/'));
}

function readUrl(given: string): PageTarget {
  if (!URL.canParse(given)) throw new TryFailure(`${given} is not an address`);
  const url = new URL(given);
  if (url.username !== '' || url.password !== '')
    throw new TryFailure(
      `the address of a page at ${url.host} holds a password, which would stand in the task: --storage-state brings what a login has stored`,
    );
  return { kind: 'url', url: url.href, origin: url.origin };
}

function missing(given: string, path: string): string {
  const isHost = /^(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?(\/|$)/.test(given) && !/\.html?$/i.test(given);
  return isHost
    ? `there is no folder ${path}; as an address it is http://${given}`
    : `there is no folder ${path}`;
}

function folderTarget(folder: string, file: string | undefined): FolderTarget {
  const name = basename(folder).toLowerCase().replace(PAGE_NAME, '-').replace(/^-|-$/g, '');
  const path = file === undefined || file === 'index.html' ? undefined : file;
  return { kind: 'folder', folder, page: name === '' ? 'page' : name, path };
}

/**
 * The components plus the page, which a task source provides as for all pages. Returns the name under which it is
 * registered.
 */
export function withPage(
  registry: ComponentRegistry,
  target: PageTarget,
): { registry: ComponentRegistry; target: PageTarget } {
  if (target.kind === 'url') return { registry, target };
  const { folder } = target;
  // The run file may already provide a page from the same folder.
  const [known] = Object.entries(registry.pages).find(([, place]) => place === folder) ?? [];
  if (known !== undefined) return { registry, target: { ...target, page: known } };
  const page = Object.hasOwn(registry.pages, target.page) ? `my-${target.page}` : target.page;
  const component: TaskSourceComponent = {
    kind: 'task-source',
    name: `page_${page.replaceAll('-', '_')}`,
    description: 'the page that is tried',
    pages: { [page]: folder },
    create: () => ({ load: () => [] }),
  };
  const all = [...registry.all(), { component, file: folder }];
  return { registry: new ComponentRegistry(all, registry.files), target: { ...target, page } };
}

/** Environment options of a task on this page. */
export function pageOptions(target: PageTarget): Record<string, unknown> {
  if (target.kind === 'url') return { url: target.url };
  return { page: target.page, path: target.path };
}

/** The page's name for users. */
export function pageName(target: PageTarget): string {
  if (target.kind === 'folder') return target.folder;
  const { origin, pathname } = new URL(target.url);
  return `${origin}${pathname}`;
}
