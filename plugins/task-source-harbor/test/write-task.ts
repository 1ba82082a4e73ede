import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A task whose desktop is an MCP server and whose test compares the agent's answer. */
export const FILES: Readonly<Record<string, string>> = {
  'task.toml': `schema_version = "1.1"

[task]
name = "uirl/read-code"
keywords = ["desktop"]

[metadata]
difficulty = "easy"

[verifier]
timeout_sec = 60.0

[agent]
timeout_sec = 600.0

[environment]
cpus = 1
memory_mb = 2048
network_mode = "public"

[[environment.mcp_servers]]
name = "desktop"
transport = "streamable-http"
url = "http://desktop:8000/mcp"
`,
  'instruction.md': `<!-- uirl canary 0000 -->

Read the code on the screen and write it to /app/code.txt.
`,
  'environment/notes.txt': 'The desktop shows its code.\n',
  'tests/test.sh': `#!/bin/sh
if [ "$(cat /app/code.txt)" = "$(cat /tests/expected.txt)" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
`,
  'tests/expected.txt': 'K-42\n',
  'solution/solve.sh': '#!/bin/sh\necho K-42 > /app/code.txt\n',
};

/** Writes a task folder; null leaves a file out. Returns the folder. */
export function writeTask(folder: string, changes: Readonly<Record<string, string | null>> = {}): string {
  for (const [name, text] of Object.entries({ ...FILES, ...changes })) {
    if (text === null) continue;
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
