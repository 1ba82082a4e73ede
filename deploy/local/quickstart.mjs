// One command on a fresh clone: runs the setup, then trains the small default model on the demo tasks. `npm run
// quickstart -- --help`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setup } from './setup.mjs';
import { root } from './tools.mjs';

const started = Date.now();
try {
  const tools = await setup();
  const child = spawn(
    process.execPath,
    [join(root, 'dist/services/cli/src/main.js'), 'quickstart', ...process.argv.slice(2)],
    {
      stdio: 'inherit',
      env: {
        ...process.env,
        NATS_SERVER_BIN: tools.natsServer,
        CHROMIUM_BIN: tools.chromium,
        UIRL_SETUP_SECONDS: String((Date.now() - started) / 1000),
      },
    },
  );
  // The terminal sends Ctrl-C to the child as well; it cleans up, and this process exits with its exit code.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)));
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
