import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';

const MODULES = resolve(__dirname, '../../../node_modules');
const TARBALL = /^(.+)\/-\/(.+)\.tgz$/;

/**
 * An npm registry with the packages of this project's node_modules, in the installed versions, so that `npm
 * install --registry <url>` needs no other.
 */
export class PackageRegistry {
  /** Names of requested packages. */
  readonly requests: string[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<PackageRegistry> {
    const server = createServer();
    const registry = new PackageRegistry(server);
    server.on('request', (request, response) => {
      const answer = registry.answer(decodeURIComponent(request.url ?? '').slice(1));
      response.statusCode = answer === undefined ? 404 : 200;
      response.end(answer);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((stopped) => this.server.close(stopped));
  }

  private answer(path: string): string | Buffer | undefined {
    const [, name, version] = TARBALL.exec(path) ?? [undefined, path, undefined];
    const installed = foldersOf(name).map((folder) => ({
      folder,
      manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string },
    }));
    if (installed.length === 0) return undefined;
    if (version !== undefined) {
      const folder = installed.find(({ manifest }) => manifest.version === version)?.folder;
      return folder === undefined ? undefined : tarballOf(folder);
    }
    this.requests.push(name);
    const entries = installed.map(({ manifest }) => {
      const dist = { tarball: `${this.url}/${name}/-/${manifest.version}.tgz` };
      return [manifest.version, { ...manifest, dist }] as const;
    });
    const latest = installed[0].manifest.version;
    return JSON.stringify({ name, 'dist-tags': { latest }, versions: Object.fromEntries(entries) });
  }
}

/** Where a package is installed here: the version of the project first, then those of other packages. */
function foldersOf(name: string): string[] {
  const nested = packagesIn(MODULES).map((each) => join(MODULES, each, 'node_modules', name));
  return [join(MODULES, name), ...nested].filter((folder) => existsSync(join(folder, 'package.json')));
}

/** Names of the packages of a `node_modules` folder, with scopes. */
function packagesIn(modules: string): string[] {
  return readdirSync(modules).flatMap((entry) =>
    entry.startsWith('@') ? readdirSync(join(modules, entry)).map((name) => join(entry, name)) : [entry],
  );
}

function tarballOf(folder: string): Buffer {
  return spawnSync('tar', ['-I', 'gzip -1', '-cf', '-', '-C', dirname(folder), basename(folder)], {
    maxBuffer: 2 ** 28,
  }).stdout;
}
