import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '@ui-rl/settings';
import type { OptionSet } from './option-sets';
import type { Judge, Verdict } from './verdict';

/** Gets the command line's verdict on an option set: `ui-rl train --dry-run`. */
export async function dryRun({ options, flags }: OptionSet, judge: Judge): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-options-'));
  try {
    const config = join(folder, 'run.yaml');
    // JSON is valid YAML.
    await writeFile(config, JSON.stringify(options));
    const { code, output } = await train(['--dry-run', '--config', config, ...flags]);
    if (code === 0 && output.includes('nothing was started')) return { outcome: 'starts' };
    const isNamed = code === 1 && judge.names({ options, flags }, output);
    return isNamed
      ? { outcome: 'refused', message: output }
      : { outcome: 'unsound', message: `exit code ${code}: ${output}` };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function train(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const program = [
    join(projectRoot, 'libs/testkit/run-ts.cjs'),
    join(projectRoot, 'services/cli/src/main.ts'),
  ];
  const child = spawn(process.execPath, [...program, 'train', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
