import { spawnSync } from 'node:child_process';

/** The block of nats-server's configuration that says where its streams lie. */
export function jetstreamStore(binary: string, storeDir: string): string {
  const settings = [`store_dir: ${JSON.stringify(storeDir)}`];
  // Without it the server answers first and writes within two minutes.
  if (canWriteFirst(versionOf(binary))) settings.push('sync_interval: always');
  return `jetstream { ${settings.join(', ')} }`;
}

/** Whether a nats-server that calls itself so can write to disk before it answers: from 2.10 on. */
export function canWriteFirst(version: string): boolean {
  const [, major, minor] = /v(\d+)\.(\d+)\./.exec(version) ?? [];
  return major !== undefined && (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 10));
}

/** What the server says of itself; nothing where it cannot be started, which its start will tell. */
function versionOf(binary: string): string {
  return spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout ?? '';
}
