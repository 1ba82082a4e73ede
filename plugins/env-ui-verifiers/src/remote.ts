import {
  OutsideError,
  outsideText,
  isRecord,
  screenshotOfPng,
  shownAnswer,
  type OutsideServer,
  type Screenshot,
} from '@ui-rl/plugin-kit';
import type { ActQuery } from './requests';

/** What was submitted so far, as the server counts it. */
export interface Progress {
  /** Rows of the sheet that were submitted as they stand there, the same one as often as that happened. */
  submittedRows: number[];
  incorrect: number;
}

/** One session of a server. Failures are thrown as `OutsideError`. */
export interface RemoteSession {
  screenshot(signal: AbortSignal): Promise<Screenshot>;
  /** The screenshot after the action; null where the server refuses the action and nothing was done. */
  act(query: ActQuery, signal: AbortSignal): Promise<Screenshot | null>;
  progress(signal: AbortSignal): Promise<Progress>;
  /** Ends the session, where the server is told. */
  end(signal: AbortSignal): Promise<void>;
}

/** What a server says at its root. */
export interface Greeting {
  /** When its session began, as it writes that; undefined where it does not say. */
  startedAt: string | undefined;
  /** Of what type its only session is; undefined where it does not say. */
  type: string | undefined;
}

export function isSessionType(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,100}$/.test(value);
}

/** Asks whether a server is there. */
export async function greet(server: OutsideServer, signal: AbortSignal): Promise<Greeting> {
  const { bytes } = await server.get('/', { signal });
  const text = bytes.toString('utf8', 0, 10_000);
  const [, startedAt] = /^Start time: *(.{1,100})$/m.exec(text) ?? [];
  const [, title] = /^Session type: *(.{1,100})$/im.exec(text) ?? [];
  // `Simple Data Entry` is what is asked for as `simple_data_entry`.
  const type = title?.trim().toLowerCase().replaceAll(/\W+/g, '_');
  return { startedAt: startedAt?.trim(), type };
}

/** Whether a server opens sessions: one of the older kind tells them all. */
export async function opensSessions(server: OutsideServer, signal: AbortSignal): Promise<boolean> {
  const { status, bytes } = await server.ask('/status', { signal });
  if (status !== 200) return false;
  try {
    return isRecord(JSON.parse(bytes.toString()));
  } catch {
    return false;
  }
}

/** The session that a server has. It goes on after the episode. */
export function onlySession(server: OutsideServer): RemoteSession {
  return new HttpSession(server, '', {
    screenshot: (signal) => server.get('/act', { query: { action_type: 'screenshot' }, signal }),
    end: () => Promise.resolve(),
  });
}

/** Opens a session at a server of many. */
export async function openSession(
  server: OutsideServer,
  type: string,
  signal: AbortSignal,
): Promise<RemoteSession> {
  const opened = await server.getJson('/session', { method: 'POST', query: { type, n: '1' }, signal });
  const id =
    isRecord(opened) && Array.isArray(opened.session_ids) ? (opened.session_ids[0] as unknown) : null;
  if (!['number', 'string'].includes(typeof id) || !/^[\w.-]{1,100}$/.test(String(id))) {
    throw new OutsideError(
      'crashed',
      `${server.address}/session answered ${outsideText(JSON.stringify(opened))}, expected {"session_ids": […]}`,
    );
  }
  const path = `/session/${String(id)}`;
  return new HttpSession(server, path, {
    screenshot: (signal) => server.get(`${path}/screenshot`, { signal }),
    end: async (signal) => void (await server.get(path, { method: 'DELETE', signal })),
  });
}

interface Ways {
  screenshot(signal: AbortSignal): ReturnType<OutsideServer['get']>;
  end(signal: AbortSignal): Promise<void>;
}

class HttpSession implements RemoteSession {
  constructor(
    private readonly server: OutsideServer,
    private readonly path: string,
    private readonly ways: Ways,
  ) {}

  async screenshot(signal: AbortSignal): Promise<Screenshot> {
    const { bytes } = await this.ways.screenshot(signal);
    return screenshotOfPng(bytes, this.server.address);
  }

  async act(query: ActQuery, signal: AbortSignal): Promise<Screenshot | null> {
    const answer = await this.server.ask(`${this.path}/act`, { query, signal });
    if (answer.status === 400 || answer.status === 422) return null;
    if (answer.status !== 200) {
      throw new OutsideError(
        'crashed',
        `${this.server.address}${this.path}/act answered ${shownAnswer(answer)}`,
      );
    }
    return screenshotOfPng(answer.bytes, this.server.address);
  }

  async progress(signal: AbortSignal): Promise<Progress> {
    const path = `${this.path}/progress`;
    const told = await this.server.getJson(path, { signal });
    const progress = readProgress(told);
    if (progress !== null) return progress;
    throw new OutsideError(
      'crashed',
      `${this.server.address}${path} answered ${outsideText(JSON.stringify(told))}, expected submitted_row_indices and num_incorrect_submissions`,
    );
  }

  end(signal: AbortSignal): Promise<void> {
    return this.ways.end(signal);
  }
}

function readProgress(told: unknown): Progress | null {
  if (!isRecord(told)) return null;
  const { submitted_row_indices: submittedRows, num_incorrect_submissions: incorrect } = told;
  const fits = Array.isArray(submittedRows) && submittedRows.every(isCount) && isCount(incorrect);
  return fits ? { submittedRows, incorrect } : null;
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0;
}
