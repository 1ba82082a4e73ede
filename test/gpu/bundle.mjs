// npm run gpu:bundle: builds test/gpu/bundle, a self-contained folder for a machine with a GPU: without network, Node
// or checkout.
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../../deploy/local/tools.mjs';
import { archive, download, PACKED_HOW, strip } from './archives.mjs';

/** Maximum size in MiB, a limit of the transfer. */
export const LIMIT_MIB = 60;

const here = join(root, 'test/gpu');

/** The files of each fixture that a conversation needs, without the tensors of other tests. */
export const FIXTURES = ['qwen2-vl-b', 'smolvlm-a'];
const OF_A_FIXTURE = ['expected.json', 'images', 'model'];

/** Packages that the built command requires at run time, since they contain native programs. */
export const PACKAGES = [
  'onnxruntime-node',
  'onnxruntime-common',
  'sharp',
  '@img/sharp-linux-x64',
  '@img/sharp-libvips-linux-x64',
  '@img/colour',
  'detect-libc',
  'semver',
];

/**
 * System packages: the Vulkan loader, dependencies of NVIDIA's Vulkan driver and of vulkaninfo, and the C++ library.
 * Used if the machine lacks them.
 */
export const SYSTEM_PACKAGES = [
  'libvulkan1',
  'vulkan-tools',
  'libegl1',
  'libglvnd0',
  'libgl1',
  'libglx0',
  'libx11-6',
  'libxext6',
  'libxcb1',
  'libxau6',
  'libxdmcp6',
  'libbsd0',
  'libmd0',
  'libwayland-client0',
  'libffi8',
  'libstdc++6',
  'libgcc-s1',
];

/** The sources as compiled for tests, and the libs by name. */
async function sources(module = 'commonjs') {
  const { transform } = await import('@swc/core');
  const { jest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [, compiled] = Object.values(jest.transform)[0];
  const options = { ...compiled, module: { type: module }, swcrc: false };
  return {
    name: 'sources',
    resolveId: (id) =>
      id.startsWith('@ui-rl/') ? join(root, 'libs', id.slice('@ui-rl/'.length), 'src/index.ts') : null,
    transform: async (code, id) =>
      id.endsWith('.ts') ? (await transform(code, { ...options, filename: id })).code : null,
  };
}

/** Bundles a command and its engine thread into one file each. */
export async function buildCommand(
  out,
  { input = { main: join(here, 'main.ts') }, options = {}, module } = {},
) {
  const { rolldown } = await import('rolldown');
  const { plugins = [], ...others } = options;
  const bundle = await rolldown({
    ...others,
    input: { ...input, worker: join(root, 'libs/engine/src/worker.ts') },
    plugins: [...plugins, await sources(module)],
    cwd: root,
    platform: 'node',
    // A package that is not installed is optional for its importer.
    external: (id) => PACKAGES.some((name) => id === name || id.startsWith(`${name}/`)),
    logLevel: 'silent',
  });
  await bundle.write({ dir: out, format: 'cjs', entryFileNames: '[name].js', chunkFileNames: 'shared.js' });
}

const isNeeded = (path) =>
  !/\.(map|d\.ts|d\.mts|md|txt)$/.test(path) &&
  !/\/(win32|darwin|arm64|docs|src\/.*\.cc|test)(\/|$)/.test(path);

function copyPackages(out) {
  for (const name of PACKAGES) {
    const from = join(root, 'node_modules', name);
    if (!existsSync(from))
      throw new Error(`${from} is not there: run "npm ci" on Linux with an x64 processor`);
    cpSync(from, join(out, name), {
      recursive: true,
      dereference: true,
      filter: (path) => isNeeded(relative(from, path)),
    });
  }
}

/** Copies models and golden fixtures to the paths that the command uses. */
export function copyData(out) {
  cpSync(join(root, 'deploy/local/model'), join(out, 'deploy/local/model'), { recursive: true });
  for (const fixture of FIXTURES) {
    for (const part of OF_A_FIXTURE) {
      const path = join('test/golden/fixtures', fixture, part);
      cpSync(join(root, path), join(out, path), { recursive: true });
    }
  }
}

/**
 * Two archives for the other machine to unpack into one folder: programs, which rarely change, and the command with
 * its data.
 */
async function gather({ programs, command }, recipe) {
  copyPackages(join(programs, 'node_modules'));
  mkdirSync(join(programs, 'bin'));
  strip(process.execPath, join(programs, 'bin/node'));
  await recipe.writeCommand(command);
  writeFileSync(join(command, 'package.json'), '{"private":true,"type":"commonjs"}\n');
}

/** Packs a folder, or reuses an archive of equal files. */
function pack(folder, file) {
  const hash = createHash('sha256').update(PACKED_HOW);
  for (const path of [...filesBelow(folder)].toSorted((x, y) => x.localeCompare(y))) {
    hash.update(`${relative(folder, path)}\0`).update(readFileSync(path));
  }
  const kept = join(root, '.cache/gpu-packed', `${basename(file)}-${hash.digest('hex').slice(0, 32)}`);
  if (!existsSync(kept)) {
    console.log(`Packing ${basename(file)}; of programs this takes minutes …`);
    mkdirSync(dirname(kept), { recursive: true });
    archive(folder, kept);
  }
  cpSync(kept, file);
}

function* filesBelow(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else yield path;
  }
}

/** The contents of a bundle, for display and verification. */
function manifestOf(bundle, stages) {
  const sized = (folder, path) => ({ file: relative(folder, path), bytes: statSync(path).size });
  const packed = [...filesBelow(bundle)].map((path) => ({
    ...sized(bundle, path),
    sha256: createHash('sha256').update(readFileSync(path)).digest('hex'),
  }));
  const bytes = packed.reduce((sum, each) => sum + each.bytes, 0);
  return {
    node: process.version,
    bytes,
    packed,
    unpacked: stages.flatMap((stage) => [...filesBelow(stage)].map((path) => sized(stage, path))),
  };
}

/** Unpacked files that every command requires. */
export const PROGRAMS = [
  'bin/node',
  'node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1',
  'node_modules/onnxruntime-node/bin/napi-v6/linux/x64/onnxruntime_binding.node',
  ...PACKAGES.map((name) => `node_modules/${name}/package.json`),
];

/** Unpacked files that the command requires. */
export const NEEDED = [
  ...PROGRAMS,
  'test/gpu/main.js',
  'test/gpu/worker.js',
  'deploy/local/model/model.safetensors',
  ...FIXTURES.flatMap((name) => {
    const folder = `test/golden/fixtures/${name}`;
    const model = readdirSync(join(root, folder, 'model')).map((file) => `model/${file}`);
    return ['expected.json', ...model].map((file) => `${folder}/${file}`);
  }),
];

/** A kind of bundle: its scripts, the files of its command, and those it requires. */
const TESTS = {
  scripts: ['run.sh', 'unpack.sh'],
  packages: SYSTEM_PACKAGES,
  needed: NEEDED,
  async writeCommand(out) {
    await buildCommand(join(out, 'test/gpu'));
    copyData(out);
  },
};

/** A module in place of the browser's: the pages of this bundle are recorded. */
const NO_BROWSER = {
  name: 'no browser',
  resolveId: (id) => (id === 'playwright' ? '\0no-browser' : null),
  load: (id) =>
    id === '\0no-browser'
      ? `const fail = () => { throw new Error('this bundle has no browser: use --screens') };
         export const chromium = { launch: fail, executablePath: fail };`
      : null,
};

/** @param screens file of recorded screens */
export function pretraining(screens) {
  const stages = join(root, 'libs/pretraining/src');
  return {
    scripts: ['pretrain.sh', 'unpack.sh'],
    // Only the tests run vulkaninfo.
    packages: SYSTEM_PACKAGES.filter((name) => name !== 'vulkan-tools'),
    needed: [
      ...PROGRAMS,
      ...['main', 'thread', 'worker'].map((name) => `pretraining/${name}.js`),
      'screens.bin',
    ],
    async writeCommand(out) {
      await buildCommand(join(out, 'pretraining'), {
        input: { main: join(root, 'test/gpu/pretrain.ts'), thread: join(stages, 'supply/thread.ts') },
        // With modules of the language, what the stages do not use is left out: services, their framework, plugins.
        module: 'es6',
        options: {
          plugins: [NO_BROWSER],
          // Types that are exported like values.
          shimMissingExports: true,
          treeshake: { moduleSideEffects: (id) => !/\/(libs|plugins|services)\//.test(id) },
        },
      });
      // The settings find the root of the project by this folder.
      mkdirSync(join(out, 'deploy/config'), { recursive: true });
      writeFileSync(join(out, 'deploy/config/README.md'), 'Not part of this bundle.\n');
      cpSync(screens, join(out, 'screens.bin'));
    },
  };
}

/** Required files that are missing, in the archives or beside them. */
export function missingIn({ packed, unpacked }, { scripts, packages, needed } = TESTS) {
  const has = (list, begin) => list.some(({ file }) => file.startsWith(begin));
  const outside = [...scripts, 'programs.deb', 'command.deb', ...packages.map((name) => `packages/${name}_`)];
  return [
    ...needed.filter((file) => !unpacked.some((each) => each.file === file)),
    ...outside.filter((begin) => !has(packed, begin)),
  ];
}

const mib = (bytes) => (bytes / 2 ** 20).toFixed(1).padStart(6);

function print(manifest, out) {
  for (const { file, bytes } of manifest.packed) console.log(`${mib(bytes)} MiB  ${file}`);
  console.log(`${mib(manifest.bytes)} MiB  in all, of ${LIMIT_MIB}: ${relative(process.cwd(), out) || '.'}`);
}

async function bundle(out, recipe) {
  const stage = join(root, '.cache/gpu-bundle');
  const stages = { programs: join(stage, 'programs'), command: join(stage, 'command') };
  rmSync(stage, { recursive: true, force: true });
  rmSync(out, { recursive: true, force: true });
  for (const folder of [...Object.values(stages), join(out, 'packages')])
    mkdirSync(folder, { recursive: true });
  console.log('Building the command …');
  await gather(stages, recipe);
  for (const script of recipe.scripts) cpSync(join(here, script), join(out, script));
  console.log('Fetching packages of the system …');
  download(recipe.packages, join(out, 'packages'));
  for (const [name, folder] of Object.entries(stages)) pack(folder, join(out, `${name}.deb`));
  const manifest = manifestOf(out, Object.values(stages));
  writeFileSync(join(out, 'manifest.json'), `${JSON.stringify(manifest, null, 1)}\n`);
  print(manifest, out);
  const missing = missingIn(manifest, recipe);
  if (missing.length > 0) throw new Error(`the bundle lacks ${missing.join(', ')}`);
  if (manifest.bytes > LIMIT_MIB * 2 ** 20) throw new Error(`the bundle takes more than ${LIMIT_MIB} MiB`);
}

const HELP = `npm run gpu:bundle -- [--out FOLDER]      all that a machine with a GPU needs, at most ${LIMIT_MIB} MiB

  --out FOLDER          where to (test/gpu/bundle); what is there is removed
  --pretraining FILE    instead of the tests: pre-training of the general model, on the recorded screens of FILE

Needs Debian or Ubuntu on x64, with apt-get, dpkg, xz and strip, and a network. On the other machine:
  bash FOLDER/run.sh OUT
  bash FOLDER/pretrain.sh read --dir DIR --steps N
`;

if (process.argv[1] === import.meta.filename) {
  try {
    const { values } = parseArgs({
      options: { out: { type: 'string' }, pretraining: { type: 'string' }, help: { type: 'boolean' } },
    });
    const recipe = values.pretraining === undefined ? TESTS : pretraining(values.pretraining);
    if (values.help) console.log(HELP);
    else await bundle(values.out ?? join(here, 'bundle'), recipe);
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
