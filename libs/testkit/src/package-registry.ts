import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';

const MODULES = resolve(__dirname, '../../../node_modules');
const TARBALL = '/-/package.tgz';

/**
 * An npm registry with the packages of this project's node_modules, each in the installed version, so that `npm
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
      const path = decodeURIComponent(request.url ?? '');
      const name = path.slice(1).replace(TARBALL, '');
      const answer = existsSync(join(MODULES, name, 'package.json'))
        ? registry.answer(name, path)
        : undefined;
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

  private answer(name: string, path: string): string | Buffer {
    const folder = join(MODULES, name);
    if (path.endsWith(TARBALL)) {
      return spawnSync('tar', ['-I', 'gzip -1', '-cf', '-', '-C', dirname(folder), basename(folder)], {
        maxBuffer: 2 ** 28,
      }).stdout;
    }
    this.requests.push(name);
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    const { version } = manifest;
    const dist = { tarball: `${this.url}/${name}${TARBALL}` };
    return JSON.stringify({
      name,
      'dist-tags': { latest: version },
      versions: { [version]: { ...manifest, dist } },
    });
  }
}
