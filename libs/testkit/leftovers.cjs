const { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');

/** What ends by itself, such as the processes of a browser that was closed, may take so long. */
const GRACE_MS = 5_000;

/**
 * Finds what a test file leaves behind. While it runs, TMPDIR names a folder of its own: whatever is in it afterwards was not
 * removed, and whatever process was started with that variable was not ended.
 */
module.exports = class Leftovers {
  constructor() {
    this.before = process.env.TMPDIR;
    this.ended = false;
    this.folder = mkdtempSync(join(tmpdir(), 'uirl-test-'));
    // Others may pass through: PostgreSQL runs as another user.
    chmodSync(this.folder, 0o711);
    process.env.TMPDIR = this.folder;
  }

  /** Ends and removes what was left. Gives an error that tells what it was, null where it was nothing. */
  async end() {
    if (this.ended) return null;
    this.ended = true;
    if (this.before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = this.before;
    const until = Date.now() + GRACE_MS;
    while (this.found().length > 0 && Date.now() < until) await delay(50);
    const found = this.found();
    for (const { pid } of this.processes()) process.kill(pid, 'SIGKILL');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    if (found.length === 0) return null;
    const error = new Error(`this file left behind:\n  ${found.join('\n  ')}`);
    error.stack = error.message;
    return error;
  }

  found() {
    const processes = this.processes().map(({ pid, command }) => `process ${pid}: ${command}`);
    return [...processes, ...readdirSync(this.folder).map((name) => `file ${name} in ${tmpdir()}`)];
  }

  /** Processes that were started with this TMPDIR; none where there is no /proc. */
  processes() {
    const found = [];
    for (const pid of process.platform === 'linux' ? readdirSync('/proc').filter(Number) : []) {
      try {
        const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
        // A browser has a folder of its own in it.
        if (!variables.some((variable) => variable.startsWith(`TMPDIR=${this.folder}`))) continue;
        const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
        found.push({ pid: Number(pid), command: command.slice(0, 200) });
      } catch {
        // It ended meanwhile, or is another user's.
      }
    }
    return found;
  }
};
