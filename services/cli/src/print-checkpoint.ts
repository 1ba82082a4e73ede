import { brokerVariable } from '@ui-rl/api';
import { readCliSettings, type RunFile } from '@ui-rl/settings';

/** Prints a checkpoint's address, and what can be done with it from here, which is nothing where the weights are kept by a service. */
export function printCheckpoint(address: string | null | undefined, { engine }: RunFile): void {
  console.log(`checkpoint ${address ?? 'none'}`);
  if (address === null || address === undefined || engine.name !== 'local') return;
  const { hasBroker, nats } = readCliSettings();
  const where = hasBroker ? `${brokerVariable(nats)} ` : '';
  console.log(`  ${where}npx ui-rl generate --checkpoint ${address} --input conversation.json`);
}
