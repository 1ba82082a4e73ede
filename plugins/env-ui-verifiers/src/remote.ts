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

/** Submissions so far, as counted by the server. */
export interface Progress {
  /** Sheet rows that were submitted correctly, once per submission. */
  submittedRows: number[];
  incorrect: number;
}

/** One session of a server. Failures are thrown as `OutsideError`. */
export interface RemoteSession {
  screenshot(signal: AbortSignal): Promise<Screenshot>;
  /** The screenshot after the action; null if the server rejects the action without executing it. */
  act(query: ActQuery, signal: AbortSignal): Promise<Screenshot | null>;
  progress(signal: AbortSignal): Promise<Progress>;
  /** Ends the session, if the server supports that. */
  end(signal: AbortSignal): Promise<void>;
}

/** A server's reply at its root path. */
export interface Greeting {
  /** Start time of its session in the server's format; undefined if not reported. */
  startedAt: string | undefined;
  /** Type of its only session; undefined if not reported. */
  type: string | undefined;
}

export function isSessionType(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,100}$/.test(value);
}

/** Checks whether a server is reachable. */
export async function greet(server: OutsideServer, signal: AbortSignal): Promise<Greeting> {
  const { bytes } = await server.get('/', { signal });
  const text = bytes.toString('utf8', 0, 10_000);
  const [, startedAt] = /^Start time: *(.{1,100})$/m.exec(text) ?? [];
  const [, title] = /^Session type: *(.{1,100})$/im.exec(text) ?? [];
  // The title `Simple Data Entry` corresponds to the type `simple_data_entry`.
  const type = title?.trim().toLowerCase().replaceAll(/\W+/g, '_');
  return { startedAt: startedAt?.trim(), type };
}

/** Whether a server opens sessions: servers of the older kind list them. */
export async function opensSessions(server: OutsideServer, signal: AbortSignal): Promise<boolean> {
  const { status, bytes } = await server.ask('/status', { signal });
  if (status !== 200) return false;
  try {
    return isRecord(JSON.parse(bytes.toString()));
  } catch {
    return false;
  }
}

/** The only session of a server. It continues after the episode. */
export function onlySession(server: OutsideServer): RemoteSession {
  return new HttpSession(server, '', {
    screenshot: (signal) => server.get('/act', { query: { action_type: 'screenshot' }, signal }),
    end: () => Promise.resolve(),
  });
}

/** Opens a session on a multi-session server. */
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
