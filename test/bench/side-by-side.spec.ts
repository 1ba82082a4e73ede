import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

it('compares two sides that compute the same, training and generation', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sides-'));
  const report = join(folder, 'report.json');
  const own = join(__dirname, 'own-side.mjs');
  try {
    const { stdout } = await run(process.execPath, [
      join(__dirname, 'side-by-side.mjs'),
      ...['--quick', '--samples', '4', '--rows', '1,2', '--python', own, '--json', report],
    ]);
    expect(stdout).toMatch(
      /both sides compute the same: [^]*training step, 4 samples: [^]*generation, 2 rows: /,
    );
    const { differences, training, generation } = JSON.parse(readFileSync(report, 'utf8')) as {
      differences: Record<string, number>;
      training: { ratio: number };
      generation: Record<string, { ratio: number }>;
    };
    for (const difference of Object.values(differences)) expect(difference).toBeLessThan(1e-3);
    for (const { ratio } of [training, ...Object.values(generation)]) expect(ratio).toBeGreaterThan(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 240_000);
