import { readCliSettings } from '@ui-rl/settings';

/** Prints a checkpoint's address, and what can be done with it from here. */
export function printCheckpoint(address: string | null | undefined): void {
  console.log(`checkpoint ${address ?? 'none'}`);
  if (address === null || address === undefined) return;
  const { hasBroker, nats } = readCliSettings();
  const where = hasBroker ? `NATS_URL=${nats.servers.map(withoutSecrets).join(',')} ` : '';
  console.log(`  ${where}npx ui-rl generate --checkpoint ${address} --input conversation.json`);
}

function withoutSecrets(server: string): string {
  return server.replace(/\/\/[^/@]*@/, '//');
}
