// Measures one part in its own process, for `runAllParts`.
import 'reflect-metadata';
import { runPart, type PartMessage, type PartQuestion } from './run';

const send = (message: PartMessage): void => void process.send!(message);

async function measure({ part, options }: PartQuestion): Promise<void> {
  send({ report: await runPart(part, { ...options, onProgress: (line) => send({ line }) }) });
  process.disconnect();
}

process.once('message', (question: PartQuestion) => {
  measure(question).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  });
});
