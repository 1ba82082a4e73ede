import { EventEmitter } from 'node:events';

/** A turn as shown, without secrets. */
export interface ShownTurn {
  index: number;
  /** sha256 of the screenshot that it was decided on. */
  screenshot: string;
  /** The model's answer; null if a person acted. */
  text: string | null;
  actions: readonly Readonly<Record<string, unknown>>[];
  /** `ok`, or the error of the action; null if there was no action. */
  outcome: string | null;
  parseError: string | null;
  seconds: number;
}

export interface ShownProposal {
  id: number;
  kind: string;
  words: string;
  /** Whether it is picked by default. */
  isLikely: boolean;
  /** Why it cannot be picked; null if it can. */
  refused: string | null;
}

/** A suggested command. */
export interface NextStep {
  /** Its purpose. */
  words: string;
  command: string;
}

export type ViewPhase = 'opening' | 'playing' | 'checking' | 'choosing' | 'ended' | 'failed';

/** The content of the live page. */
export interface View {
  mode: 'agent' | 'hand';
  task: string;
  page: string;
  /** Name of the policy. */
  policy: string;
  phase: ViewPhase;
  /** The result, or the problem. */
  message: string | null;
  /** Screenshot size in pixels. */
  size: { width: number; height: number } | null;
  /** sha256 of the newest screenshot. */
  screenshot: string | null;
  turns: readonly ShownTurn[];
  /** Whether the focused field is secret. */
  isSecretFocus: boolean;
  /** By hand: whether there is an action to undo. */
  canUndo: boolean;
  proposals: readonly ShownProposal[];
  /** The written files, and the suggested commands. */
  written: { files: readonly string[]; next: readonly NextStep[] } | null;
}

/** The content of the live page, and its change events. */
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
      canUndo: false,
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
    // Width and height are at the beginning of every PNG.
    this.update({ screenshot: sha256, size: { width: header.getUint32(16), height: header.getUint32(20) } });
  }

  png(sha256: string): Uint8Array | undefined {
    return this.screenshots.get(sha256);
  }
}
