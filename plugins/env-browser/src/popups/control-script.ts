/**
 * Runs repeatedly in the same isolated world of a document, safe from page scripts. `uirlOpened` is a control with an
 * open popup, or, in enclosing documents, the frame that contains it.
 */

/** Whether an element is a control whose popup the browser draws itself. */
const IS_NATIVE = `(element) => element.localName === 'input' || element.localName === 'select' &&
  getComputedStyle(element, '::picker(select)').appearance !== 'base-select'`;

/** Elements that may have a shadow root; scripts cannot access closed ones. */
const MAY_HOST = `(element) => element.localName.includes('-') ||
  /^(article|aside|blockquote|div|footer|h[1-6]|header|main|nav|p|section|span)$/.test(element.localName)`;

/** Whether an element has a datalist with suggestions. */
const SUGGESTS = `(element) => element.localName === 'input' && !!element.list && !element.readOnly &&
  /^(text|search|url|tel|email|number)$/.test(element.type)`;

/**
 * Starting at a root, the control with an open popup; otherwise the focused element that may contain one: a field
 * with suggestions, a frame, or the host of a closed shadow root.
 */
const FIND = `(root) => {
  for (;;) {
    const open = CSS.supports('selector(:open)') ? [...root.querySelectorAll('select:open, input:open')].find(${IS_NATIVE}) : undefined;
    if (open !== undefined) return open;
    const active = root.activeElement;
    if (active === null) return null;
    if ((${SUGGESTS})(active)) return active;
    if (active.shadowRoot === null) return /^(iframe|frame|object|embed|fencedframe)$/.test(active.localName) || (${MAY_HOST})(active) ? active : null;
    root = active.shadowRoot;
  }
}`;

/** How the row of an option or group is drawn. */
const ROW = `(element, kind, label, index, isDisabled, isIndented, base) => {
  const style = getComputedStyle(element);
  if (style.display === 'none') return [];
  const cased = style.textTransform === 'uppercase' ? label.toUpperCase() : style.textTransform === 'lowercase' ? label.toLowerCase() : label;
  const text = cased.replace(/\\s+/g, ' ').trim().slice(0, 300);
  const weight = kind === 'group' ? 'bold' : style.fontWeight;
  const font = (style.fontStyle + ' ' + weight + ' ' + style.fontSize + ' ' + style.fontFamily).slice(0, 300);
  base.context.font = font;
  return [{
    kind, label: text, index, isDisabled, isIndented, font,
    fontSize: parseFloat(style.fontSize),
    width: base.context.measureText(text).width,
    color: style.color,
    background: style.backgroundColor === 'rgba(0, 0, 0, 0)' || style.backgroundColor === base.background ? '' : style.backgroundColor,
  }];
}`;

const MAX_ROWS = 5_000;

const LIST = `(select) => {
  const rowOf = ${ROW};
  const own = getComputedStyle(select).backgroundColor;
  const base = { context: new OffscreenCanvas(1, 1).getContext('2d'), background: own };
  const rows = [];
  const optionRow = (option, group) => {
    const isDisabled = option.disabled || group !== null && group.disabled;
    rows.push(...rowOf(option, 'option', option.label, option.index, isDisabled, group !== null, base));
  };
  for (const child of select.querySelectorAll('option, optgroup, hr')) {
    if (rows.length >= ${MAX_ROWS}) break;
    const group = child.parentElement.closest('optgroup');
    if (group !== null && getComputedStyle(group).display === 'none') continue;
    if (child.localName === 'option') optionRow(child, group);
    else if (child.localName === 'optgroup') rows.push(...rowOf(child, 'group', child.label, -1, child.disabled, false, base));
    else rows.push(...rowOf(child, 'separator', '', -1, true, false, base));
  }
  return { kind: 'list', rows, selected: select.selectedIndex, background: own === 'rgba(0, 0, 0, 0)' ? 'rgb(239, 239, 239)' : own };
}`;

/** Suggestions whose value or label contains the text of the field, as in Chromium. */
const SUGGESTIONS = `(input) => {
  const typed = input.value.toLowerCase();
  const font = '13px sans-serif';
  const context = new OffscreenCanvas(1, 1).getContext('2d');
  context.font = font;
  const rows = [...input.list.options].slice(0, ${MAX_ROWS}).flatMap(({ value, label, disabled }, index) => {
    if (disabled || value === '' || ![value, label].some((text) => text.toLowerCase().includes(typed))) return [];
    const text = (label === value || label === '' ? value : value + ' — ' + label).slice(0, 300);
    return [{ kind: 'option', label: text, index, isDisabled: false, isIndented: false, font, fontSize: 13,
      width: context.measureText(text).width, color: '#000000', background: '' }];
  });
  const isSaid = rows.length === 1 && input.list.options[rows[0].index].value === input.value;
  if (rows.length === 0 || isSaid || !input.matches(':focus')) return null;
  return { kind: 'suggestions', rows, selected: -1, background: '#ffffff' };
}`;

const INPUT = `(input) => {
  const { type, value } = input;
  const [min, max, step] = [input.min, input.max, input.step].map((limit) => limit.slice(0, 40));
  if ((${SUGGESTS})(input)) return (${SUGGESTIONS})(input);
  if (type === 'color') return { kind: 'color', value };
  if (!/^(date|month|week|time|datetime-local)$/.test(type)) return null;
  const now = new Date();
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
  return { kind: type, value, min, max, step, isRequired: input.required, now: local };
}`;

/** Position of a frame's viewport within the enclosing viewport. */
const FRAME = `(frame) => {
  const box = frame.getBoundingClientRect(), style = getComputedStyle(frame);
  const scaleX = frame.offsetWidth > 0 ? box.width / frame.offsetWidth : 1;
  const scaleY = frame.offsetHeight > 0 ? box.height / frame.offsetHeight : 1;
  return {
    x: box.left + (frame.clientLeft + parseFloat(style.paddingLeft)) * scaleX,
    y: box.top + (frame.clientTop + parseFloat(style.paddingTop)) * scaleY,
    scaleX, scaleY,
  };
}`;

const TELL = `(element) => {
  if (element === null || !element.isConnected || element.disabled) return null;
  if ((${MAY_HOST})(element)) return { isHost: true };
  if (!/^(select|input)$/.test(element.localName)) return { frame: (${FRAME})(element) };
  const { left: x, top: y, width, height } = element.getBoundingClientRect();
  if (width === 0 && height === 0) return null;
  const told = (element.localName === 'select' ? ${LIST} : ${INPUT})(element);
  const isRtl = getComputedStyle(element).direction === 'rtl';
  return told === null ? null : { control: { ...told, box: { x, y, width, height }, isRtl } };
}`;

/** Finds the open control. */
export const FIND_OPENED = `(${TELL})(globalThis.uirlFound = (${FIND})(document))`;

/** The same for a shadow root, as a function of it. */
export const FIND_WITHIN = `(root) => (${TELL})(globalThis.uirlFound = (${FIND})(root))`;

/** Stores the found element for later queries. */
export const KEEP_FOUND = `void (globalThis.uirlOpened = globalThis.uirlFound)`;

/** The current state of the stored element. */
export const TELL_OPENED = `(${TELL})(globalThis.uirlOpened ?? null)`;

/** A function of a choice: applies it to the stored control, with the events of the browser's own popups. */
export const CHOOSE = `(choice) => {
  const control = globalThis.uirlOpened ?? null;
  if (control === null || !control.isConnected) return;
  const tell = (...types) => types.forEach((type) => control.dispatchEvent(new Event(type, { bubbles: true, composed: type === 'input' })));
  if ('index' in choice && control.localName === 'input') choice = { value: control.list.options[choice.index].value, tellsChange: true };
  if ('index' in choice) {
    if (control.selectedIndex !== choice.index) {
      control.selectedIndex = choice.index;
      tell('input', 'change');
    }
    control.dispatchEvent(new PointerEvent('click', { bubbles: true, cancelable: true, composed: true, view: window, pointerType: 'mouse' }));
    return;
  }
  if (control.value !== choice.value) {
    control.value = choice.value;
    tell('input');
  }
  if (choice.tellsChange) tell('change');
}`;
