// Finds the pages of MiniWoB++, or downloads them: from Python's package index, or by git.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { indexUrl, withoutPassword } from './fetch-wheel.mjs';
import { cache, ensure, onPath, run } from './tools.mjs';
import { unzip } from './unzip.mjs';

/** The release, its wheel, and the commit with the same pages. */
export const RELEASE = {
  project: 'miniwob',
  version: '1.1.0',
  wheel: 'miniwob-1.1.0-py3-none-any.whl',
  wheelSha256: '297006e84219d56ad037e843527ed773a4a82509dc43b6031ec4a3ad3e3e61d9',
  repository: 'https://github.com/Farama-Foundation/miniwob-plusplus',
  commit: '3f461ffcca7cecd2e84f603c6908ea16a0dfbc0c',
  /**
   * Digest of the names and contents of all files below `miniwob/html`: SHA-256 of the output of `sha256sum` for
   * them, sorted by name.
   */
  pagesSha256: '28d34feb886387e9f9e27a78136867968344d5dc7e621240eefefbff75770f7b',
};

const PAGES = 'miniwob/html';
/** Files that exist only in the repository, not in wheels. */
const OF_GIT = /(^|\/)\.git/;

/** The setup's folder; the task source finds it by the same name (`fetched` of its page). */
const folderOf = ({ version }) => join(cache, `miniwob-${version}`);

/** The checkout in MINIWOB_DIR, otherwise the downloaded one. */
export function findMiniwob(release = RELEASE) {
  const named = process.env.MINIWOB_DIR;
  if (!named) return existsSync(folderOf(release)) ? folderOf(release) : undefined;
  if (existsSync(join(named, PAGES))) return named;
  throw new Error(`MINIWOB_DIR=${named} is not a checkout of MiniWoB++: ${join(named, PAGES)} is missing`);
}

/** The folder of the pages, downloaded if missing. Throws with instructions if no download succeeds. */
export function ensureMiniwob(release = RELEASE) {
  const { project, version, repository } = release;
  return ensure(
    'MiniWoB++',
    () => findMiniwob(release),
    [byPip(release), byIndex(release), byGit(release)],
    'Where this machine cannot reach the package index, say which one it can (PIP_INDEX_URL), or fetch the pages with one of\n' +
      `  pip download --no-deps ${project}==${version}   (unpack it: unzip ${project}-*.whl -d miniwob)\n` +
      `  git clone ${repository} miniwob\n` +
      'and name the folder: MINIWOB_DIR=/path/to/miniwob',
  );
}

/**
 * Uses pip, which has the user's indexes, proxies and certificates. It checks the digest, too, so it accepts no other
 * file.
 */
function byPip(release) {
  const { project, version, wheelSha256 } = release;
  const pip = onPath('pip3', 'pip');
  return {
    by: `pip download ${project}==${version}`,
    can: () => pip !== undefined,
    fetch: () =>
      inFolder((folder) => {
        const requirements = join(folder, 'requirements.txt');
        writeFileSync(requirements, `${project}==${version} --hash=sha256:${wheelSha256}\n`);
        const choice = [
          '--no-deps',
          '--only-binary',
          ':all:',
          '--ignore-requires-python',
          '--require-hashes',
        ];
        const args = [
          'download',
          '--disable-pip-version-check',
          '-q',
          ...choice,
          '-d',
          folder,
          '-r',
          requirements,
        ];
        return run(pip, args) && keepWheel(folder, release);
      }),
  };
}

function byIndex(release) {
  const { project, wheel } = release;
  const index = indexUrl();
  const script = join(import.meta.dirname, 'fetch-wheel.mjs');
  // Newer versions of Node use the environment's proxies only with this variable.
  const env = { ...process.env, NODE_USE_ENV_PROXY: '1' };
  return {
    by: `${wheel} from ${index === undefined ? 'no index' : withoutPassword(index)}`,
    can: () => index !== undefined,
    fetch: () =>
      inFolder(
        (folder) =>
          run(process.execPath, [script, project, wheel, join(folder, wheel)], { env }) &&
          keepWheel(folder, release),
      ),
  };
}

function byGit(release) {
  const { repository, commit } = release;
  return {
    by: `git, commit ${commit.slice(0, 7)} of ${repository}`,
    can: () => onPath('git') !== undefined,
    fetch: () =>
      inFolder((folder) => {
        // Disables password prompts: the setup is not interactive.
        const env = { ...process.env, GIT_TERMINAL_PROMPT: '0' };
        const git = (...args) => run('git', ['-C', folder, '-c', 'core.autocrlf=false', ...args], { env });
        const isFetched =
          git('init', '-q') &&
          git('fetch', '-q', '--depth', '1', repository, commit) &&
          git('checkout', '-q', 'FETCH_HEAD');
        return (
          isFetched &&
          keep(
            folder,
            readdirSync(folder).filter((name) => /^licen[cs]e/i.test(name)),
            release,
          )
        );
      }),
  };
}

function keepWheel(folder, release) {
  const archive = readFileSync(join(folder, release.wheel));
  const digest = sha256(archive);
  if (digest !== release.wheelSha256) {
    console.error(`  ${release.wheel} has sha256 ${digest}, expected ${release.wheelSha256}: it is not used`);
    return false;
  }
  const licences = [];
  for (const [name, content] of unzip(archive)) {
    const [licence] = /[^/]*licen[cs]e[^/]*$/i.exec(name) ?? [];
    const path = name.startsWith(`${PAGES}/`) ? name : licence;
    if (path === undefined) continue;
    if (path === licence) licences.push(path);
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return keep(folder, licences, release);
}

/** Moves pages and license into the cache atomically, if they match the release. */
function keep(folder, licences, release) {
  const digest = digestOf(join(folder, PAGES));
  if (digest !== release.pagesSha256) {
    console.error(
      `  the pages have the digest ${digest}, expected ${release.pagesSha256}: they are not used`,
    );
    return false;
  }
  const place = folderOf(release);
  mkdirSync(cache, { recursive: true });
  const made = mkdtempSync(`${place}.`);
  try {
    for (const name of [PAGES, ...licences]) {
      cpSync(join(folder, name), join(made, name), {
        recursive: true,
        filter: (path) => !OF_GIT.test(relative(folder, path)),
      });
    }
    // Services may run as other users.
    chmodSync(made, 0o755);
    renameSync(made, place);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    // Another setup was faster.
    if (!existsSync(place)) throw error;
  }
  return true;
}

/** A digest of the names and contents of all files below a folder. */
export function digestOf(folder) {
  if (!existsSync(folder)) return 'of nothing';
  const names = readdirSync(folder, { recursive: true })
    .map((name) => name.split(sep).join('/'))
    .filter((name) => !OF_GIT.test(name) && statSync(join(folder, name)).isFile());
  const lines = names.toSorted().map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`);
  return sha256(lines.join(''));
}

function sha256(content) {
  return createHash('sha256').update(content).digest('hex');
}

function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'ui-rl-miniwob-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
