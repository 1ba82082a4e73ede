import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNatsServer } from '@ui-rl/testkit';
import { canWriteFirst, jetstreamStore } from './jetstream-store';

test('a server that can write before it answers gets the option; other servers would report it as an error', () => {
  const dir = mkdtempSync(join(tmpdir(), 'ui-rl-nats-'));
  const server = join(dir, 'nats-server');
  const saying = (version: string): string => {
    writeFileSync(server, `#!/bin/sh\necho "nats-server: ${version}"\n`);
    chmodSync(server, 0o755);
    return jetstreamStore(server, '/store');
  };
  expect(saying('v2.9.10')).toBe('jetstream { store_dir: "/store" }');
  expect(saying('v2.10.0')).toBe('jetstream { store_dir: "/store", sync_interval: always }');
  rmSync(dir, { recursive: true });
  expect(['v2.15.1', 'v3.0.0', 'v1.9.9', 'v2.9.25', 'nonsense'].map(canWriteFirst)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect(jetstreamStore('/no/such/server', '/store')).toBe('jetstream { store_dir: "/store" }');
  expect(jetstreamStore(findNatsServer(), '/store')).toMatch(/^jetstream \{ store_dir: "\/store"/);
});
