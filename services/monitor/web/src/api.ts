import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'preact/compat';
import { applyChange, type Change } from '../../src/http/change';

export interface Loaded<T> {
  data: T | null;
  error: string | null;
}

export interface LiveChange {
  runId: string;
  episodes: number;
  events: string[];
}

const NO_ANSWER =
  'The monitor does not answer. Check that it runs and that you can reach it: this page reads again when it answers.';

/** An answer and its tag. */
interface Answer {
  tag: string;
  data: unknown;
}

/** The latest answer to each path: of the next one, only the change is sent. */
const answers = new Map<string, Answer>();

/** @throws the monitor's error; a cancelled request rejects as `fetch` does */
export async function fetchJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const old = answers.get(path);
  const response = await fetch(old === undefined ? path : sincePath(path, old.tag), {
    signal,
    cache: 'no-store',
  }).catch((error: unknown) => {
    // Browsers say "Failed to fetch", "NetworkError when attempting to fetch resource." or "Load failed".
    throw error instanceof TypeError ? new Error(NO_ANSWER, { cause: error }) : error;
  });
  const body: unknown = await response.json().catch(() => undefined);
  signal?.throwIfAborted();
  if (response.ok && body === undefined) throw new Error(NO_ANSWER);
  if (response.ok) {
    const isChange = old !== undefined && response.headers.get('Delta-Base') === old.tag;
    const data = isChange ? applyChange(old.data, (body as { change: Change }).change) : body;
    remember(answers, path, { tag: response.headers.get('ETag') ?? '', data });
    return data as T;
  }
  throw refusal(response, body);
}

/** Sends changes. @throws the monitor's error */
export function patchJson(path: string, changes: object): Promise<void> {
  return sendJson('PATCH', path, changes);
}

/** Sends what something should be. @throws the monitor's error */
export function putJson(path: string, value: object): Promise<void> {
  return sendJson('PUT', path, value);
}

async function sendJson(method: string, path: string, value: object): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(path, { method, headers, body: JSON.stringify(value) }).catch(
    (cause: unknown) => {
      throw new Error('The monitor does not answer: nothing was changed. Try again when it runs.', { cause });
    },
  );
  if (!response.ok) throw refusal(response, await response.json().catch(() => undefined));
}

function refusal(response: Response, body: unknown): Error {
  const message = (body as { message?: string | string[] } | undefined)?.message ?? response.statusText;
  return new Error(Array.isArray(message) ? message.join(', ') : message);
}

function sincePath(path: string, tag: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}since=${encodeURIComponent(tag)}`;
}

type Load<T> = (signal: AbortSignal) => Promise<T>;

/** Data that a view shows. The key determines the data. */
export interface Read<T> {
  key: string;
  load: Load<T>;
}

/** The answer of the API to a path. */
export function pathRead<T>(path: string): Read<T> {
  return { key: path, load: (signal) => fetchJson<T>(path, signal) };
}

/** Reads that began before the view that shows them, by key. */
const ahead = new Map<string, Promise<unknown>>();

/** Begins to read what the view of the present address shows first. Resolves when all answers have arrived. */
export async function readAhead(reads: readonly Read<unknown>[]): Promise<void> {
  const { signal } = new AbortController();
  window.addEventListener('hashchange', () => ahead.clear(), { once: true });
  await Promise.allSettled(
    reads.map(async ({ key, load }) => {
      const answer = load(signal);
      ahead.set(key, answer);
      remember(known, key, await answer);
    }),
  );
}

/**
 * Loads data, and repeats that if another request arrived meanwhile: the page shows the data even if loading takes
 * longer than the interval of changes.
 */
class Reader<T> {
  private readonly abort = new AbortController();
  private isReading = false;
  private isAskedAgain = false;

  constructor(
    private readonly of: Read<T>,
    private readonly show: (data: T) => void,
    private readonly fail: (error: string) => void,
  ) {}

  read(): void {
    if (this.isReading) {
      this.isAskedAgain = true;
      return;
    }
    this.isReading = true;
    void this.answer()
      .then(this.show, (error: unknown) => {
        if (!this.abort.signal.aborted) this.fail(error instanceof Error ? error.message : String(error));
      })
      .finally(() => {
        this.isReading = false;
        if (!this.isAskedAgain || this.abort.signal.aborted) return;
        this.isAskedAgain = false;
        this.read();
      });
  }

  end(): void {
    this.abort.abort();
  }

  private answer(): Promise<T> {
    const { key, load } = this.of;
    const early = ahead.get(key) as Promise<T> | undefined;
    ahead.delete(key);
    return early ?? load(this.abort.signal);
  }
}

/** Reads a path, again whenever `version` changes; meanwhile the page keeps the old data. */
export function useApi<T>(path: string, version: number): Loaded<T> {
  return useLoaded(path, version, pathRead<T>(path).load);
}

const MAX_KNOWN = 60;
/** The latest data of each key, so that a page that is opened again shows at once what it has shown before. */
const known = new Map<string, unknown>();

function remember<T>(kept: Map<string, T>, key: string, value: T): void {
  kept.delete(key);
  kept.set(key, value);
  if (kept.size > MAX_KNOWN) kept.delete(kept.keys().next().value!);
}

/** Loads the data of `key`, again whenever `version` changes; meanwhile the page keeps the old data. */
export function useLoaded<T>(key: string, version: number, load: Load<T>): Loaded<T> {
  const recalled: Loaded<T> = { data: (known.get(key) as T | undefined) ?? null, error: null };
  const [state, setState] = useState<Loaded<T> & { key: string }>({ ...recalled, key });
  const reader = useRef<Reader<T> | null>(null);
  // Layout effects run before the browser paints, so that the first request does not wait for a frame.
  useLayoutEffect(() => {
    const own = new Reader<T>(
      { key, load },
      (data) => {
        remember(known, key, data);
        setState((old) => (isShown(old, key, data) ? old : { data, error: null, key }));
      },
      (error) => setState((old) => ({ data: old.key === key ? old.data : null, error, key })),
    );
    reader.current = own;
    return () => own.end();
    // The key determines the data, whichever function loads it.
  }, [key]);
  useLayoutEffect(() => reader.current?.read(), [key, version]);
  return state.key === key ? state : recalled;
}

function isShown(
  { key, data, error }: Loaded<unknown> & { key: string },
  next: string,
  answer: unknown,
): boolean {
  return key === next && data === answer && error === null;
}

/** One connection for the whole page, which the browser reopens automatically. */
class Live {
  connected = false;
  private readonly changeListeners = new Set<(changes: LiveChange[]) => void>();
  private readonly statusListeners = new Set<() => void>();
  private source: EventSource | null = null;

  onChange(listener: (changes: LiveChange[]) => void): () => void {
    this.start();
    this.changeListeners.add(listener);
    return () => this.changeListeners.delete(listener);
  }

  onStatus = (listener: () => void): (() => void) => {
    this.start();
    this.statusListeners.add(listener);
    return () => this.statusListeners.delete(listener);
  };

  private start(): void {
    if (this.source !== null) return;
    const source = new EventSource('api/live');
    this.source = source;
    source.addEventListener('open', () => this.become(true));
    source.addEventListener('error', () => {
      this.become(false);
      // The browser stops reconnecting after a response other than a stream, such as that of a proxy.
      if (source.readyState !== EventSource.CLOSED) return;
      this.source = null;
      setTimeout(() => this.start(), 2_000);
    });
    source.addEventListener('change', (event) => {
      const changes = JSON.parse(event.data as string) as LiveChange[];
      for (const listener of this.changeListeners) listener(changes);
    });
  }

  private become(connected: boolean): void {
    const wasAway = !this.connected && connected;
    this.connected = connected;
    for (const listener of this.statusListeners) listener();
    // Changes during the interruption were not sent.
    if (wasAway) for (const listener of this.changeListeners) listener([]);
  }
}

const live = new Live();

export function useConnected(): boolean {
  return useSyncExternalStore(live.onStatus, () => live.connected);
}

/** A number that increases after changes of a run (of any run without one), at most once in `everyMs`. */
export function useVersion(run: string | null, everyMs = 2_000): number {
  const [version, setVersion] = useState(0);
  const last = useRef(0);
  useEffect(() => {
    // The page has just read its data: what changed until the live connection opened is read later.
    last.current = Date.now();
    let timer: ReturnType<typeof setTimeout> | null = null;
    const grow = () => {
      timer = null;
      last.current = Date.now();
      setVersion((old) => old + 1);
    };
    const stop = live.onChange((changes) => {
      const concerns = changes.length === 0 || run === null || changes.some(({ runId }) => runId === run);
      if (concerns) timer ??= setTimeout(grow, Math.max(0, last.current + everyMs - Date.now()));
    });
    return () => {
      stop();
      if (timer !== null) clearTimeout(timer);
    };
  }, [run, everyMs]);
  return version;
}

/** A number that increases every `ms` while the page is visible. */
export function usePulse(ms: number): number {
  const [pulse, setPulse] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setPulse((old) => old + 1);
    }, ms);
    return () => clearInterval(timer);
  }, [ms]);
  return pulse;
}

export const screenshotUrl = (run: string, hash: string): string => `api/runs/${run}/screenshots/${hash}`;
