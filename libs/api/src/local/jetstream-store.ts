import { spawnSync } from 'node:child_process';

/** The block of nats-server's configuration that sets the folder of its streams. */
export function jetstreamStore(binary: string, storeDir: string): string {
  const settings = [`store_dir: ${JSON.stringify(storeDir)}`];
  // Without this setting the server acknowledges first and writes within two minutes.
  if (canWriteFirst(versionOf(binary))) settings.push('sync_interval: always');
  return `jetstream { ${settings.join(', ')} }`;
}

/** Whether a nats-server of this version can write to disk before it acknowledges: from 2.10 on. */
export function canWriteFirst(version: string): boolean {
  const [, major, minor] = /v(\d+)\.(\d+)\./.exec(version) ?? [];
  return major !== undefined && (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 10));
}

/** The server's version line; empty if the binary cannot run, which the start then reports. */
function versionOf(binary: string): string {
  return spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout ?? '';
}
