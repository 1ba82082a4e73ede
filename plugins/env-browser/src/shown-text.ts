import { plainText } from '@ui-rl/plugin-kit';
import type { CDPSession } from 'playwright';
import type { BrowserTab } from './browser-tab';
import { FrameWalk } from './frame-walk';
import { captureLayout, textPieces } from './layout-text';

/** Maximum cross-process frames read. */
const MAX_FRAMES = 32;

/** The visible text of a page. */
export interface ShownText {
  text: string;
  /** Whether all of it was read; false if a frame is gone or exceeds the limit. */
  isWhole: boolean;
}

/**
 * The text that a page lays out, including open and closed shadow roots, frames of any site, form values except
 * passwords, and the selected option of a list. Page scripts cannot falsify it.
 */
export async function shownText(tab: BrowserTab): Promise<ShownText> {
  return tab.answers.afterNavigation(async () => {
    const walk = new FrameWalk(tab.page, tab.cdp);
    try {
      const reader = new TextReader(walk);
      const text = plainText(await reader.read(tab.cdp));
      return { text, isWhole: reader.isWhole };
    } finally {
      await walk.end();
    }
  });
}

class TextReader {
  isWhole = true;
  private frames = 0;

  constructor(private readonly walk: FrameWalk) {}

  /** Reads what the session's process draws. */
  async read(session: CDPSession): Promise<string> {
    let text = '';
    for (const piece of textPieces(await captureLayout(session))) {
      text += typeof piece === 'string' ? piece : `\n${await this.readFrame(piece.backendNodeId, session)}\n`;
    }
    return text;
  }

  private async readFrame(backendNodeId: number, session: CDPSession): Promise<string> {
    try {
      if (++this.frames > MAX_FRAMES) throw new Error('more frames than are read');
      const { node } = await session.send('DOM.describeNode', { backendNodeId });
      return await this.read(await this.walk.sessionOf(node.frameId!, session));
    } catch {
      this.isWhole = false;
      return '';
    }
  }
}
