import type { Action, Point, Region, Screenshot } from '@ui-rl/plugin-kit';
import type { BrowserTab } from '../browser-tab';
import type { LinesOver } from '../screen-text';
import { ColorPicker } from './color-picker';
import type { Control } from './control';
import { DatePicker } from './date-picker';
import { effectOf, pressEffect } from './inputs';
import { FileDialog, FileList, type Opened } from './file-dialog';
import { ListPopup } from './list';
import { OpenedControl, type Setting } from './opened-control';
import { enlarged, withOverlay } from './overlay';
import { linesOf } from './lines';
import { placePopup, roomFor } from './place';
import { Suggestions } from './suggestions';
import { isWithin, type Box, type Choice, type Effect, type Popup, type Size } from './popup';

/** Actions that do not close a popup that ignores them; keys then go to its control. */
const STAYS_OPEN = new Set(['wait', 'finish', 'move', 'mouse_up', 'key', 'key_down', 'key_up', 'type']);
/** Keys that do not open suggestions. */
const STILL_KEYS = new Set([
  'tab',
  'enter',
  'escape',
  'shift',
  'ctrl',
  'alt',
  'meta',
  'left',
  'right',
  'home',
  'end',
]);

interface Shown {
  opened: Opened;
  control: Control;
  popup: Popup;
  /** Position in the page's viewport. */
  box: Box;
}

/** An action with its points, in CSS pixels of the page's viewport. */
export interface PlacedAction {
  action: Action;
  from: Point | null;
  to: Point | null;
}

/**
 * The popups of a page's controls in one episode: select lists and pickers for dates, times and colors. The browser
 * draws them in separate windows that DevTools input cannot reach. So each is closed as soon as it opens, redrawn
 * over the screenshot, and receives the actions that target it. The page gets the same events as from the browser's
 * own popups; nothing of the popup is in its document.
 */
export class Popups {
  private shown: Shown | null = null;
  /** The last action; null before the first one, when no popup can be open. */
  private last: PlacedAction | null = null;
  /** Whether the last action closed a popup by a press on its control; the browser then opens it again. */
  private wasToggled = false;

  constructor(private readonly tab: BrowserTab) {}

  /** A screenshot of the page including the open popup, or a region of it, in the same number of pixels. */
  async capture(region: Region | null = null): Promise<Screenshot> {
    // Before the screenshot, since one at another scale than the viewport's closes the browser's popup.
    const chooser = this.tab.takeChooser();
    if (chooser !== null) {
      await this.adopt(new FileDialog(this.tab, chooser));
      this.tab.note('file_chooser_opened');
    } else if (this.last !== null) {
      const opened = await OpenedControl.find(this.tab);
      if (opened !== null) await this.meet(opened, this.last);
    }
    if (region !== null && this.shown === null) return this.tab.capture(region);
    const whole = await this.overlaid(await this.tab.capture());
    return region === null ? whole : enlarged(whole, region, this.tab.spec.scale);
  }

  /** The open popup as text with positions; null if none is open. */
  over(): LinesOver | null {
    const { shown } = this;
    if (shown === null) return null;
    const { popup, box } = shown;
    return { lines: linesOf(popup, box), covers: (place) => isWithin(place, box) };
  }

  /**
   * Passes an action to the open popup. Returns whether it is fully handled; a press elsewhere closes the popup and
   * also goes to the page.
   */
  async take(placed: PlacedAction): Promise<boolean> {
    const { action, from, to } = placed;
    this.last = placed;
    this.wasToggled = false;
    const { shown } = this;
    if (shown === null) return false;
    const within = { from: inPopup(shown, from), to: inPopup(shown, to) };
    const isTouch = this.tab.spec.input === 'touch';
    const effect = effectOf(shown.popup, { action, ...within, isTouch });
    if (effect !== null) await this.apply(effect, shown);
    else if (!STAYS_OPEN.has(action.action)) await this.leave(from, shown);
    return effect !== null;
  }

  /** Whether a press that is still held has opened a popup; the browser opens lists on press. */
  async openedByPress(): Promise<boolean> {
    const opened = await OpenedControl.find(this.tab);
    if (opened === null || opened.isUndrawn) {
      await opened?.end();
      return false;
    }
    await this.adopt(opened);
    return true;
  }

  /** Ends the press at the point to which it was dragged. */
  async release(at: Point): Promise<void> {
    const { shown } = this;
    if (shown === null || !isWithin(at, shown.box)) return;
    await this.apply(pressEffect(shown.popup, inPopup(shown, at)!), shown);
  }

  /** Drops the open popup. */
  async close(): Promise<void> {
    const { shown } = this;
    this.shown = null;
    await shown?.opened.end();
  }

  /** Shows the popup of a control found after an action, unless that action closed it or does not open it. */
  private async meet(opened: OpenedControl, last: PlacedAction): Promise<void> {
    if (opened.isUndrawn && (this.shown !== null || !asksForSuggestions(last, opened.control)))
      return opened.end();
    await this.adopt(opened);
    if (this.wasToggled) await this.close();
  }

  /** Closes the browser's popup, which consumes the key, and replaces it. */
  private async adopt(opened: Opened): Promise<void> {
    await this.close();
    await opened.keep();
    const escape = { key: 'Escape', code: 'Escape', windowsVirtualKeyCode: 27 };
    if (!opened.isUndrawn)
      await this.tab.cdp.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...escape });
    const { control } = opened;
    const popup = popupOf(control, this.tab.spec.viewport);
    this.shown = { opened, control, popup, box: this.boxOf(control, popup) };
  }

  private async overlaid(screenshot: Screenshot): Promise<Screenshot> {
    const { shown } = this;
    if (shown === null) return screenshot;
    const control = await shown.opened.tell();
    const picture = control === null ? null : await this.picture(shown, control);
    if (picture === null) {
      await this.close();
      return screenshot;
    }
    const { scale } = this.tab.spec;
    return withOverlay(screenshot, picture, [
      Math.round(shown.box.x * scale),
      Math.round(shown.box.y * scale),
    ]);
  }

  /** Redraws it for changes of the page: the control's position, and the options of a list. */
  private async picture(shown: Shown, control: Control): Promise<Buffer | null> {
    const { viewport, scale } = this.tab.spec;
    const isOther = JSON.stringify(rowsOf(control)) !== JSON.stringify(rowsOf(shown.control));
    if (isOther) shown.popup = popupOf(control, viewport);
    shown.control = control;
    shown.box = this.boxOf(control, shown.popup);
    const { size } = shown.popup;
    return shown.opened.paint(size, (scale * shown.box.width) / size.width, shown.popup.paint());
  }

  private boxOf(control: Control, { size }: Popup): Box {
    return placePopup(size, control.box, this.tab.spec.viewport, control.isRtl);
  }

  private async apply({ choice, closes = false }: Effect, shown: Shown): Promise<void> {
    if (choice !== undefined) await shown.opened.choose(settingOf(choice, shown.opened.control));
    if (closes) await this.close();
  }

  private async leave(at: Point | null, shown: Shown): Promise<void> {
    this.wasToggled = at !== null && isWithin(at, shown.control.box);
    await this.apply({ ...shown.popup.leave(), closes: true }, shown);
  }
}

function popupOf(control: Control, viewport: Size): Popup {
  if ('rows' in control) {
    const room = roomFor(control.box, viewport);
    const kinds = { list: ListPopup, suggestions: Suggestions, files: FileList };
    return new kinds[control.kind](control, room);
  }
  return control.kind === 'color' ? new ColorPicker(control) : new DatePicker(control);
}

function rowsOf(control: Control): unknown {
  return 'rows' in control ? [control.rows, control.selected] : null;
}

/** Presses on the field, text, and editing or down-arrow keys open suggestions. */
function asksForSuggestions({ action, from }: PlacedAction, { box }: Control): boolean {
  if (action.action === 'type') return true;
  if (action.action === 'key') return action.keys.length === 1 && !STILL_KEYS.has(action.keys[0]);
  return /click|press/.test(action.action) && from !== null && isWithin(from, box);
}

/** Converts a viewport point to pixels of the popup, which may be drawn scaled down. */
function inPopup({ box, popup }: Shown, at: Point | null): Point | null {
  if (at === null) return null;
  const shrunk = box.width / popup.size.width;
  return [(at[0] - box.x) / shrunk, (at[1] - box.y) / shrunk];
}

/** A change is reported once, with the final value. @param first state of the control when its popup opened */
function settingOf(choice: Choice, first: Control): Setting {
  if ('index' in choice) return choice;
  return {
    value: choice.value,
    tellsChange: choice.isFinal && 'value' in first && first.value !== choice.value,
  };
}
