import { useEffect, useState } from 'preact/compat';

export type Action = Readonly<Record<string, unknown>>;

/** In the form of `libs/try`: `src/view.ts`. */
export interface Turn {
  index: number;
  screenshot: string;
  text: string | null;
  actions: readonly Action[];
  outcome: string | null;
  parseError: string | null;
  seconds: number;
}

export interface Proposal {
  id: number;
  kind: string;
  words: string;
  isLikely: boolean;
  refused: string | null;
}

export interface View {
  mode: 'agent' | 'hand';
  task: string;
  page: string;
  policy: string;
  phase: 'opening' | 'playing' | 'checking' | 'choosing' | 'ended' | 'failed';
  message: string | null;
  size: { width: number; height: number } | null;
  screenshot: string | null;
  turns: readonly Turn[];
  isSecretFocus: boolean;
  /** By hand: whether there is an action to undo. */
  canUndo: boolean;
  proposals: readonly Proposal[];
  written: { files: readonly string[]; next: readonly { words: string; command: string }[] } | null;
}

/** The command's view as it changes, and whether the command still runs. */
export function useView(): { view: View | null; connected: boolean } {
  const [view, setView] = useState<View | null>(null);
  const [connected, setConnected] = useState(false);
  useEffect(() => {
    const source = new EventSource('events');
    source.addEventListener('open', () => setConnected(true));
    source.addEventListener('error', () => setConnected(false));
    source.addEventListener('view', (event) => {
      const told = JSON.parse(event.data as string) as View;
      setView(told);
      // The command is about to exit and will answer no further requests.
      if (told.phase === 'ended' || told.phase === 'failed') source.close();
    });
    return () => source.close();
  }, []);
  return { view, connected };
}

export const screenshotUrl = (sha256: string): string => `screenshots/${sha256}`;

/** @throws the command's error */
export async function send(path: 'action' | 'undo' | 'done' | 'checks', body: object): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (response.ok) return;
  const { message } = (await response.json().catch(() => ({}))) as { message?: string };
  throw new Error(message ?? response.statusText);
}
