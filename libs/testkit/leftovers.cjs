const { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');

/** How long processes that end by themselves, such as those of a closed browser, may take. */
const GRACE_MS = 5_000;

/** Written by npm and the TypeScript compiler on Node 22 and newer, when a test starts them. */
const COMPILE_CACHE = 'node-compile-cache';
/** The data of the user: runs of tests that name no other folder. */
const USER_DATA = 'user-data';

/**
 * Finds what a test file leaves behind. TMPDIR names the file's own folder: any content at the end was not removed,
 * and any process started with that variable was not ended.
 */
module.exports = class Leftovers {
  constructor() {
    this.before = { TMPDIR: process.env.TMPDIR, XDG_DATA_HOME: process.env.XDG_DATA_HOME };
    this.ended = false;
    this.folder = mkdtempSync(join(tmpdir(), 'uirl-test-'));
    // Other users need to traverse it: PostgreSQL runs as another user.
    chmodSync(this.folder, 0o711);
    process.env.TMPDIR = this.folder;
    process.env.XDG_DATA_HOME = join(this.folder, USER_DATA);
  }

  /** Ends and removes leftovers. Returns an error that lists them, or null if there are none. */
  async end() {
    if (this.ended) return null;
    this.ended = true;
    for (const [name, value] of Object.entries(this.before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
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
    const files = readdirSync(this.folder).filter((name) => ![COMPILE_CACHE, USER_DATA].includes(name));
    return [...processes, ...files.map((name) => `file ${name} in ${tmpdir()}`)];
  }

  /** Processes that were started with this TMPDIR; empty without /proc. */
  processes() {
    const found = [];
    for (const pid of process.platform === 'linux' ? readdirSync('/proc').filter(Number) : []) {
      try {
        const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
        // A browser has its own folder in it.
        if (!variables.some((variable) => variable.startsWith(`TMPDIR=${this.folder}`))) continue;
        const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
        found.push({ pid: Number(pid), command: command.slice(0, 200) });
      } catch {
        // It has ended meanwhile, or belongs to another user.
      }
    }
    return found;
  }
};
