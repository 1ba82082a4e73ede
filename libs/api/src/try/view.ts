import { EventEmitter } from 'node:events';

/** A turn as it is shown: nothing secret in it. */
export interface ShownTurn {
  index: number;
  /** sha256 of what it was decided on. */
  screenshot: string;
  /** What a model answered; null where a person acted. */
  text: string | null;
  actions: readonly Readonly<Record<string, unknown>>[];
  /** `ok`, or what was wrong with the action; null where there was none. */
  outcome: string | null;
  parseError: string | null;
  seconds: number;
}

export interface ShownProposal {
  id: number;
  kind: string;
  words: string;
  /** Whether it is picked unless somebody says otherwise. */
  isLikely: boolean;
  /** Why it cannot be picked. */
  refused: string | null;
}

/** A command for afterwards. */
export interface NextStep {
  /** What it is good for. */
  words: string;
  command: string;
}

export type ViewPhase = 'opening' | 'playing' | 'checking' | 'choosing' | 'ended' | 'failed';

/** What the live page shows. */
export interface View {
  mode: 'agent' | 'hand';
  task: string;
  page: string;
  /** Who plays. */
  policy: string;
  phase: ViewPhase;
  /** How it ended, or what is wrong. */
  message: string | null;
  /** Pixels of the screenshots. */
  size: { width: number; height: number } | null;
  /** sha256 of the newest one. */
  screenshot: string | null;
  turns: readonly ShownTurn[];
  /** Whether what is typed now is nobody's business. */
  isSecretFocus: boolean;
  proposals: readonly ShownProposal[];
  /** What was written, and what to type next. */
  written: { files: readonly string[]; next: readonly NextStep[] } | null;
}

/** What is shown, and what changes of it. */
export class LiveView extends EventEmitter<{ change: [] }> {
  private readonly screenshots = new Map<string, Uint8Array>();
  private shown: View;

  constructor(start: Pick<View, 'mode' | 'task' | 'page' | 'policy'>) {
    super();
    this.shown = {
      ...start,
      phase: 'opening',
      message: null,
      size: null,
      screenshot: null,
      turns: [],
      isSecretFocus: false,
      proposals: [],
      written: null,
    };
  }

  get view(): View {
    return this.shown;
  }

  update(change: Partial<View>): void {
    this.shown = { ...this.shown, ...change };
    this.emit('change');
  }

  addTurn(turn: ShownTurn): void {
    this.update({ turns: [...this.shown.turns, turn] });
  }

  /** Shows a screenshot as the newest. */
  addScreenshot(png: Uint8Array, sha256: string): void {
    this.screenshots.set(sha256, png);
    const { buffer, byteOffset } = png;
    const header = new DataView(buffer, byteOffset);
    // Width and height stand at the beginning of every PNG.
    this.update({ screenshot: sha256, size: { width: header.getUint32(16), height: header.getUint32(20) } });
  }

  png(sha256: string): Uint8Array | undefined {
    return this.screenshots.get(sha256);
  }
}
