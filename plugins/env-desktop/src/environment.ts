import type {
  Deadline,
  Environment,
  EnvironmentContext,
  EnvironmentSession,
  OpenOptions,
  Reply,
} from '@ui-rl/plugin-kit';
import { APPLICATIONS, readApplications } from './applications';
import { Desktop, type DesktopContext } from './desktop';
import { readDesktopSpec, type DesktopRules } from './desktop-spec';
import { DesktopError } from './errors';
import { findPrograms } from './find-programs';
import { MemoryWatch } from './memory-watch';
import type { DesktopOptions } from './options';
import { sweepLeftOvers, whatKernelAllows } from './seat';
import { asReply, DesktopSession } from './session';

export const CONFINEMENT = 'DESKTOP_CONFINEMENT';

/** Throws a `DesktopError` `no_desktop` for any other value. */
function readConfinement(value = 'on'): 'on' | 'off' {
  if (value === 'on' || value === 'off') return value;
  throw new DesktopError('no_desktop', `${CONFINEMENT} is "${value}", expected on or off`);
}

/** One desktop per episode: display, home and programs start and end with it. */
export class DesktopEnvironment implements Environment {
  private readonly sessions = new Set<DesktopSession>();
  /** Desktops that are currently opening. */
  private readonly opening = new Set<Promise<unknown>>();
  private isOver = false;

  private constructor(
    private readonly context: DesktopContext,
    private readonly rules: DesktopRules,
  ) {}

  /** Throws `DesktopError` if a required program is missing, or the list of applications is invalid. */
  static async create(options: DesktopOptions, service: EnvironmentContext): Promise<DesktopEnvironment> {
    const { programs, pages, variables = {}, log } = service;
    const applications = readApplications(variables[APPLICATIONS]);
    const found = findPrograms(variables, programs.chromium);
    const confines = readConfinement(variables[CONFINEMENT]) === 'on';
    const kernel = whatKernelAllows();
    sweepLeftOvers();
    if (!kernel.namespaces)
      log(
        'warn',
        'the kernel refuses user namespaces: pages on desktops run without the sandbox of Chromium',
      );
    if (!confines && process.getuid?.() !== 0)
      log(
        'warn',
        `${CONFINEMENT}=off: programs on desktops can read the files of this user, and end this service`,
      );
    const context = { programs: found, options, kernel, confines, memory: new MemoryWatch() };
    return new DesktopEnvironment(context, { applications, pages });
  }

  async open({ task, seed }: OpenOptions, deadline: Deadline): Promise<Reply<EnvironmentSession>> {
    const opening = asReply(() => this.start({ task, seed }, deadline));
    this.opening.add(opening);
    try {
      return await opening;
    } finally {
      this.opening.delete(opening);
    }
  }

  async close(): Promise<void> {
    this.isOver = true;
    await Promise.allSettled(this.opening);
    await Promise.all([...this.sessions].map((session) => session.discard()));
  }

  private async start({ task, seed }: OpenOptions, deadline: Deadline): Promise<EnvironmentSession> {
    const spec = readDesktopSpec(task, this.rules);
    const desktop = await Desktop.open(spec, seed, this.context, deadline);
    try {
      const [screenshot, state] = await desktop.during(deadline, async () => {
        return [await desktop.capture(), (await desktop.state()) ?? null] as const;
      });
      const session = new DesktopSession(screenshot, state, desktop, () => this.sessions.delete(session));
      this.sessions.add(session);
      if (this.isOver) await session.discard();
      return session;
    } catch (error) {
      await desktop.end();
      throw error;
    }
  }
}
