// System programs that build a bundle.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

function run(program, args, options = {}) {
  const { status, error, stderr } = spawnSync(program, args, { encoding: 'utf8', ...options });
  if (error?.code === 'ENOENT')
    throw new Error(`${program} is not there; a bundle is made on Debian or Ubuntu`);
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr}`);
}

/** Strips the symbols of a program. */
export function strip(from, to) {
  copyFileSync(from, to);
  run('strip', ['--strip-all', to]);
}

/** Downloads packages of this system from its mirror. */
export function download(names, folder) {
  const scratch = mkdtempSync(join(tmpdir(), 'ui-rl-packages-'));
  try {
    run('apt-get', ['download', '-o', 'APT::Sandbox::User=root', ...names], { cwd: scratch });
    // An epoch is written as %3a, which not every transfer tool supports.
    for (const name of readdirSync(scratch)) {
      copyFileSync(join(scratch, name), join(folder, name.replace(/_\d+%3a/, '_')));
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * Packs a folder as a Debian package: anyone with dpkg can unpack it, without xz. Machine code compresses by a
 * further tenth if its jumps are absolute (--x86), which dpkg-deb does not support.
 */
export function archive(folder, file) {
  const scratch = mkdtempSync(join(tmpdir(), 'ui-rl-archive-'));
  const packed = (name, from) => {
    const tar = join(scratch, name);
    const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
    run('tar', [...same, '-C', from, '-cf', tar, '.']);
    run('xz', [...XZ, tar]);
    return { name: `${name}.xz`, data: readFileSync(`${tar}.xz`) };
  };
  try {
    const control = join(scratch, 'control');
    mkdirSync(control);
    writeFileSync(join(control, 'control'), CONTROL);
    const members = [
      { name: 'debian-binary', data: Buffer.from('2.0\n') },
      packed('control.tar', control),
      packed('data.tar', folder),
    ];
    writeFileSync(`${file}.part`, arOf(members));
    renameSync(`${file}.part`, file);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const XZ = ['--x86', '--lzma2=preset=6,dict=64MiB', '--check=crc32'];
/** Changes if the same files would be packed differently. */
export const PACKED_HOW = XZ.join(' ');

const CONTROL = `Package: ui-rl-gpu
Version: 1
Architecture: amd64
Maintainer: ui-rl
Description: what a machine with a GPU needs to run this project's tests and bench
`;

/** An archive of `ar`, as specified by deb(5). */
export function arOf(members) {
  const parts = members.flatMap(({ name, data }) => {
    const header = [
      name.padEnd(16),
      '0'.padEnd(12),
      '0'.padEnd(6),
      '0'.padEnd(6),
      '100644'.padEnd(8),
      String(data.length).padEnd(10),
      '`\n',
    ];
    return [Buffer.from(header.join('')), data, Buffer.from(data.length % 2 === 1 ? '\n' : '')];
  });
  return Buffer.concat([Buffer.from('!<arch>\n'), ...parts]);
}
