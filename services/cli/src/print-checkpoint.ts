import { readCliSettings, type NatsSettings, type RunFile } from '@ui-rl/settings';

/** Prints a checkpoint's address, and what can be done with it from here, which is nothing where the weights are kept by a service. */
export function printCheckpoint(address: string | null | undefined, { engine }: RunFile): void {
  console.log(`checkpoint ${address ?? 'none'}`);
  if (address === null || address === undefined || engine.name !== 'local') return;
  const { hasBroker, nats } = readCliSettings();
  const where = hasBroker ? `${brokerVariable(nats)} ` : '';
  console.log(`  ${where}npx ui-rl generate --checkpoint ${address} --input conversation.json`);
}

function brokerVariable({ contextFile, servers }: NatsSettings): string {
  return contextFile === undefined
    ? `NATS_URL=${servers.map(withoutSecrets).join(',')}`
    : `NATS_CONTEXT=${contextFile}`;
}

function withoutSecrets(server: string): string {
  return server.replace(/\/\/[^/@]*@/, '//');
}
