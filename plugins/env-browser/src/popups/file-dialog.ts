import type { FileChooser } from 'playwright';
import type { BrowserTab } from '../browser-tab';
import { payloadOf, type FixtureFile } from '../fixture-files';
import { FrameWalk } from '../frame-walk';
import type { PageWindow } from '../page-window';
import type { ListControl, Row } from './control';
import { ListPopup } from './list';
import type { OpenedControl, Setting } from './opened-control';
import { PAINT } from './paint-script';
import type { Effect, PaintOp, Size } from './popup';

/** The members of an opened control that a popup needs. */
export type Opened = Pick<
  OpenedControl,
  'control' | 'isUndrawn' | 'keep' | 'tell' | 'choose' | 'paint' | 'end'
>;

const FONT_SIZE = 13;
/** Widest character of the font, in CSS pixels. */
const CHARACTER = 8;
/** Width of the dialog, if its viewport has the room. */
const WIDTH = 240;
/** Time limit for passing files to a page that still answers. */
const SET_MS = 5_000;

/** A file chooser that a page has opened, as a list of the task's files. */
export class FileDialog implements Opened {
  /** The browser draws nothing for it. */
  readonly isUndrawn = true;
  readonly control: ListControl;
  private readonly window: PageWindow;
  private readonly navigations: number;
  private isAnswered = false;

  constructor(
    private readonly tab: BrowserTab,
    private readonly chooser: FileChooser,
    private readonly files: readonly FixtureFile[] = tab.spec.files,
  ) {
    this.window = tab.window;
    this.navigations = tab.window.navigations;
    const { width, height } = tab.spec.viewport;
    const wide = Math.min(WIDTH, width);
    const labels = files.map(({ label }) => label);
    const hasAll = chooser.isMultiple() && files.length > 1;
    this.control = {
      kind: 'files',
      box: { x: Math.floor((width - wide) / 2), y: Math.floor(height / 8), width: wide, height: 0 },
      isRtl: false,
      rows: [title(chooser), ...(hasAll ? [...labels, `All ${files.length} files`] : labels).map(row)],
      selected: -1,
      background: '#ffffff',
    };
  }

  async keep(): Promise<void> {}

  /** Null if the page has left the document. */
  async tell(): Promise<ListControl | null> {
    const { window, navigations } = this;
    return window.page.isClosed() || window.navigations !== navigations ? null : this.control;
  }

  async choose(setting: Setting): Promise<void> {
    if (!('index' in setting)) return;
    this.isAnswered = true;
    const file = this.files[setting.index] as FixtureFile | undefined;
    const chosen = file === undefined ? this.files : [file];
    try {
      await this.chooser.setFiles(await Promise.all(chosen.map(payloadOf)), { timeout: SET_MS });
    } catch {
      // Such as a chooser of folders, or a field that the page has removed.
      this.tab.note('file_chooser_blocked');
    }
  }

  async paint(size: Size, scale: number, ops: readonly PaintOp[]): Promise<Buffer | null> {
    const walk = new FrameWalk(this.window.page, this.window.cdp);
    const asked = `(${PAINT})(${JSON.stringify(size)}, ${scale}, ${JSON.stringify(ops)})`;
    try {
      return Buffer.from(await walk.evaluate<string>(await walk.top(), asked), 'base64');
    } catch {
      return null;
    } finally {
      await walk.end();
    }
  }

  /** Tells the page that nothing was chosen, as a browser does. */
  async end(): Promise<void> {
    if (this.isAnswered) return;
    this.isAnswered = true;
    const cancel = (field: { dispatchEvent(event: Event): boolean }) =>
      field.dispatchEvent(new Event('cancel', { bubbles: true }));
    this.chooser
      .element()
      .evaluate(cancel)
      .catch(() => undefined);
  }
}

/** The list of a file chooser. */
export class FileList extends ListPopup {
  override readonly name = 'files';

  override leave(): Effect {
    return { closes: true };
  }
}

function title(chooser: FileChooser): Row {
  const label = chooser.isMultiple() ? 'Open files' : 'Open a file';
  return { ...row(label, -1), kind: 'group', font: `bold ${FONT_SIZE}px sans-serif`, background: '#e8eaed' };
}

function row(label: string, index: number): Row {
  return {
    ...{ kind: 'option', label, index, isDisabled: false, isIndented: false },
    ...{ font: `${FONT_SIZE}px sans-serif`, fontSize: FONT_SIZE, width: CHARACTER * label.length },
    ...{ color: '#000000', background: '' },
  };
}
