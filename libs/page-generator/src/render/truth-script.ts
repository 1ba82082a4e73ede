/**
 * A function of a document: its visible characters and elements, as in `ScreenTruth`. Text, so that no tool
 * instruments it. It changes the document while it runs and restores it afterwards.
 */
export const TRUTH = String.raw`function (doc) {
  const view = doc.defaultView;
  const width = view.innerWidth, height = view.innerHeight;
  const INTERACTIVE = new Set(['button', 'link', 'checkbox', 'radio', 'select', 'option', 'text field', 'password field', 'text area', 'slider',
    'spin button', 'tab', 'menu', 'menu item', 'accordion', 'tree item', 'date', 'suggestion', 'drag source', 'toggle', 'close button']);
  const SIGHT = 0.3, SEEN_SHARE = 0.8, LOW_SHARE = 0.97;
  /** Characters whose ink lies at the bottom of their boxes. */
  const LOW = /[_,.;…]/;
  /** The arrows of a number's field, which the browser shows under the pointer, have their place always. */
  const SPIN_WIDTH = 16;
  const styles = new Map(), clips = new Map(), opacities = new Map();
  const styleOf = (element) => {
    let style = styles.get(element);
    if (style === undefined) styles.set(element, (style = view.getComputedStyle(element)));
    return style;
  };
  const meet = (a, b) => [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])];
  const sides = (rect) => [rect.left, rect.top, rect.right, rect.bottom];
  const area = (box) => Math.max(0, box[2] - box[0]) * Math.max(0, box[3] - box[1]);
  const WHOLE = [0, 0, width, height];

  /** The area that an element and its ancestors leave for its content. */
  const clipInside = (element) => {
    if (element === null || element === doc.documentElement || element === doc.body) return WHOLE;
    let clip = clips.get(element);
    if (clip !== undefined) return clip;
    clip = clipAround(element);
    const { overflowX, overflowY } = styleOf(element);
    if (overflowX !== 'visible' || overflowY !== 'visible') {
      const rect = element.getBoundingClientRect();
      const left = rect.left + element.clientLeft, top = rect.top + element.clientTop;
      clip = meet(clip, [left, top, left + element.clientWidth, top + element.clientHeight]);
    }
    clips.set(element, clip);
    return clip;
  };
  const clipAround = (element) => {
    const { position } = styleOf(element);
    if (position === 'fixed') return WHOLE;
    let parent = element.parentElement;
    if (position === 'absolute') while (parent !== null && styleOf(parent).position === 'static') parent = parent.parentElement;
    return clipInside(parent);
  };
  const opacityOf = (element) => {
    if (element === null) return 1;
    let opacity = opacities.get(element);
    if (opacity === undefined) {
      opacity = Number(styleOf(element).opacity) * opacityOf(element.parentElement);
      opacities.set(element, opacity);
    }
    return opacity;
  };
  const canBeSeen = (element) => styleOf(element).visibility === 'visible' && opacityOf(element) >= SIGHT;
  const isOpaque = (element) => {
    if (!canBeSeen(element)) return false;
    const { backgroundColor, backgroundImage } = styleOf(element);
    const alpha = /rgba\(.*, ?([\d.]+)\)/.exec(backgroundColor);
    return backgroundImage !== 'none' || alpha === null || Number(alpha[1]) > 0.5 || /^(img|svg|canvas|input|select|textarea|button)$/i.test(element.tagName) || element.ownerSVGElement != null;
  };
  /**
   * Elements that may lie over others, with their places: to ask the browser for what lies at a point costs much more than to see that none of
   * them is there.
   */
  const layers = [];
  for (const element of doc.body.getElementsByTagName('*')) {
    const style = styleOf(element);
    if (element.ownerSVGElement != null || (style.position === 'static' && !isOpaque(element))) continue;
    const rect = element.getBoundingClientRect();
    if (rect.width > 0 && rect.height > 0) layers.push({ element, box: sides(rect), hides: isOpaque(element) });
  }
  const mayBeOver = (element, x, y, hides) => layers.some(({ element: other, box, hides: isHiding }) =>
    (isHiding || !hides) && x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3] && !other.contains(element) && !element.contains(other));
  /** Whether something else lies over a point of an element. */
  const isCovered = (element, x, y) => {
    if (!mayBeOver(element, x, y, true)) return false;
    const hit = doc.elementFromPoint(x, y);
    if (hit === null) return true;
    if (hit === element || element.contains(hit) || hit.contains(element)) return false;
    for (const each of doc.elementsFromPoint(x, y)) {
      if (each === element || element.contains(each) || each.contains(element)) return false;
      if (isOpaque(each)) return true;
    }
    return false;
  };
  const cased = (text, transform) => transform === 'uppercase' ? text.toUpperCase() : transform === 'lowercase' ? text.toLowerCase()
    : transform === 'capitalize' ? text.replace(/(^|\s)(\S)/g, (_, space, letter) => space + letter.toUpperCase()) : text;
  const round = (value) => Math.round(value * 100) / 100;
  const boxOf = (part) => [round(part[0]), round(part[1]), round(round(part[2]) - round(part[0])), round(round(part[3]) - round(part[1]))];

  const characters = [];
  /** Adds what can be seen of the characters of a word; owner is what a click on them reaches. */
  const addWord = (glyphs, clip, owner) => {
    const seen = [];
    for (const glyph of glyphs) {
      const part = meet(clip, glyph.box);
      if (area(glyph.box) > 0 && area(part) >= (LOW.test(glyph.text) ? LOW_SHARE : SEEN_SHARE) * area(glyph.box)) seen.push({ text: glyph.text, part });
    }
    if (seen.length === 0) return;
    const covered = ({ part }) => isCovered(owner, (part[0] + part[2]) / 2, (part[1] + part[3]) / 2);
    const first = covered(seen[0]), last = covered(seen[seen.length - 1]);
    if (first && last && seen.length < 3) return;
    const each = first || last ? seen.filter((glyph) => !covered(glyph)) : seen;
    for (const { text, part } of each) characters.push({ text, box: boxOf(part) });
  };
  const range = doc.createRange();
  /** The words of a text node as characters with their places, moved by dx and dy. */
  const wordsOf = (node, shown, dx, dy) => {
    const words = [];
    let word = [];
    const text = node.data;
    for (let at = 0; at < text.length; ) {
      const length = text.codePointAt(at) > 0xffff ? 2 : 1;
      const glyph = text.slice(at, at + length);
      if (/\s/.test(glyph)) {
        if (word.length > 0) words.push(word);
        word = [];
      } else {
        range.setStart(node, at);
        range.setEnd(node, at + length);
        const rect = range.getBoundingClientRect();
        word.push({ text: shown.slice(at, at + length), box: [rect.left + dx, rect.top + dy, rect.right + dx, rect.bottom + dy] });
      }
      at += length;
    }
    if (word.length > 0) words.push(word);
    return words;
  };
  const isTransparent = (color) => /rgba\(.*, ?0(\.[0-2]\d*)?\)/.test(color);

  const addTexts = () => {
    const walker = doc.createTreeWalker(doc.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (!/\S/.test(node.data) || /^(script|style|option|textarea)$/i.test(parent.tagName)) continue;
      if (!canBeSeen(parent) || isTransparent(styleOf(parent).color)) continue;
      range.selectNodeContents(node);
      const clip = clipInside(parent);
      if (area(meet(clip, sides(range.getBoundingClientRect()))) === 0) continue;
      const shown = cased(node.data, styleOf(parent).textTransform);
      for (const word of wordsOf(node, shown.length === node.data.length ? shown : node.data, 0, 0)) addWord(word, clip, parent);
    }
  };

  /** The text of a field, which no range reaches: laid out again in a box of the same style. */
  const COPIED = ['fontFamily', 'fontSize', 'fontWeight', 'fontStyle', 'letterSpacing', 'wordSpacing', 'textIndent', 'textTransform', 'textAlign', 'tabSize', 'fontKerning'];
  const shownText = (field) => {
    if (field.tagName === 'SELECT') return field.selectedOptions.length === 0 ? '' : field.selectedOptions[0].label;
    if (field.value === '') return field.placeholder || '';
    return field.type === 'password' ? '•'.repeat([...field.value].length) : field.value;
  };
  const inFields = () => {
    const mirrors = [];
    const holder = doc.createElement('div');
    holder.style.cssText = 'position:fixed;left:0;top:0;width:0;height:0;visibility:hidden';
    const fields = doc.querySelectorAll('input:not([type=checkbox]):not([type=radio]):not([type=range]), select, textarea');
    for (const field of fields) {
      if (!canBeSeen(field) || isTransparent(styleOf(field).color)) continue;
      const text = shownText(field);
      const rect = field.getBoundingClientRect();
      if (text === '' || area(meet(clipAround(field), sides(rect))) === 0) continue;
      const style = styleOf(field), isArea = field.tagName === 'TEXTAREA', isSelect = field.tagName === 'SELECT';
      if (isSelect && (field.size > 1 || field.multiple)) {
        for (const option of field.options) mirrors.push({ field: option, text: option.label, rect: option.getBoundingClientRect(), clip: meet(clipAround(field), sides(rect)), inset: 2, isOption: true });
        continue;
      }
      mirrors.push({ field, text, rect, clip: meet(clipAround(field), sides(rect)), isArea, inset: isSelect && style.appearance !== 'none' ? 4 : 0 });
    }
    for (const each of mirrors) {
      const style = styleOf(each.field), { rect } = each;
      const edge = (side) => parseFloat(style['padding' + side]) + parseFloat(style['border' + side + 'Width']);
      const left = edge('Left') + each.inset, top = edge('Top');
      each.inner = [rect.left + left, rect.top + top, rect.right - edge('Right') - (each.field.type === 'number' ? SPIN_WIDTH : 0), rect.bottom - edge('Bottom')];
      const mirror = doc.createElement('div');
      for (const name of COPIED) mirror.style[name] = style[name];
      const isWide = !each.isArea;
      mirror.style.cssText += ';position:absolute;left:0;top:0;margin:0;padding:0;border:0;min-width:' + (each.inner[2] - each.inner[0]) + 'px;white-space:' + (isWide ? 'pre' : 'pre-wrap') + ';overflow-wrap:break-word;line-height:' + (each.isArea ? style.lineHeight : 'normal') + (isWide ? ';width:max-content' : ';width:' + (each.inner[2] - each.inner[0]) + 'px');
      mirror.textContent = each.text;
      holder.append(mirror);
      each.mirror = mirror;
    }
    doc.documentElement.append(holder);
    for (const each of mirrors) {
      const own = each.mirror.getBoundingClientRect();
      const free = each.inner[3] - each.inner[1] - own.height;
      const dx = each.inner[0] - own.left - (each.field.scrollLeft || 0);
      const dy = each.inner[1] - own.top + (each.isArea ? -each.field.scrollTop : free / 2);
      const node = each.mirror.firstChild;
      const shown = cased(node.data, styleOf(each.field).textTransform);
      each.words = wordsOf(node, shown, dx, dy);
    }
    holder.remove();
    for (const { words, clip, inner, field, isOption } of mirrors) {
      const inside = meet(clip, [inner[0] - 1, inner[1] - 2, inner[2] + 1, inner[3] + 2]);
      for (const word of words) addWord(word, inside, isOption ? field.closest('select') : field);
    }
  };

  const textOf = (element) => cased(element.innerText ?? element.textContent, styleOf(element).textTransform).replace(/\s+/g, ' ').trim();
  const isInteractive = (element) => element.dataset.interactive === 'true' || INTERACTIVE.has(element.dataset.k);
  /** A point of a box that reaches the element when clicked: its middle, or another one. */
  const STEPS = [[0.5, 0.5], [0.3, 0.3], [0.7, 0.7], [0.12, 0.5], [0.88, 0.5], [0.5, 0.15], [0.5, 0.85]];
  const reaches = (element, x, y) => {
    if (!mayBeOver(element, x, y, false) && !(isInteractive(element) && element.querySelector('[data-e]') !== null)) return true;
    const hit = doc.elementFromPoint(x, y);
    if (hit === null || !element.contains(hit)) return element.tagName === 'OPTION' && hit !== null && hit.contains(element);
    if (!isInteractive(element)) return true;
    for (let each = hit; each !== element; each = each.parentElement) if (each.dataset.e !== undefined && isInteractive(each)) return false;
    return true;
  };
  const centerOf = (element, box) => {
    for (const [fx, fy] of STEPS) {
      const x = box[0] + fx * (box[2] - box[0]), y = box[1] + fy * (box[3] - box[1]);
      if (reaches(element, x, y)) return [round(x), round(y)];
    }
    return null;
  };
  const boxesOf = (element) => {
    const rects = [...element.getClientRects()];
    return rects.length === 1 ? sides(rects[0]) : rects.length === 0 ? null
      : rects.map(sides).reduce((best, each) => (area(each) > area(best) ? each : best));
  };
  /** Whether all text of a field is selected; number fields do not say from where to where. */
  const isAllSelected = (field) => {
    if (typeof field.value !== 'string' || field.value === '') return false;
    if (field.selectionEnd === null) return doc.getSelection().toString() === field.value;
    return field.selectionStart === 0 && field.selectionEnd === field.value.length;
  };
  const stateOf = (element) => {
    const state = {};
    const flag = (name) => element.getAttribute('aria-' + name);
    if (element.type === 'checkbox' || element.type === 'radio') state.checked = element.checked;
    else if (flag('checked') !== null) state.checked = flag('checked') === 'true';
    if (element.tagName === 'OPTION') state.selected = element.selected;
    else if (flag('selected') !== null) state.selected = flag('selected') === 'true';
    if (element.disabled === true || flag('disabled') === 'true') state.disabled = true;
    if (flag('expanded') !== null) state.expanded = flag('expanded') === 'true';
    if (doc.activeElement === element) state.focused = true;
    if (state.focused && isAllSelected(element)) state.selected = true;
    return state;
  };
  const valueOf = (element) => {
    if (element.tagName === 'SELECT') return element.selectedOptions.length === 0 ? '' : element.selectedOptions[0].label;
    if (/^(INPUT|TEXTAREA)$/.test(element.tagName) && !/^(checkbox|radio|button|submit)$/.test(element.type)) return element.value;
    return element.dataset.value;
  };
  /** Headings that have been seen, with the width that what belongs to them may take. */
  const headings = [];
  const headingOver = (element, box) => {
    const dialog = element.closest('[data-k=dialog]');
    for (const { name, heading, bottom, left, right } of headings.toReversed()) {
      if (heading.closest('[data-k=dialog]') === dialog && bottom <= box[3] && box[0] < right && box[2] > left) return name;
    }
    return dialog !== null && dialog !== element ? dialog.dataset.name : undefined;
  };
  const describe = (element) => {
    const rect = boxesOf(element);
    if (rect === null || !canBeSeen(element)) return null;
    const box = meet(clipAround(element), rect);
    if (box[2] - box[0] < 3 || box[3] - box[1] < 3 || area(box) < SIGHT * Math.min(area(rect), width * height)) return null;
    const center = centerOf(element, box);
    if (center === null) return null;
    const data = element.dataset;
    const found = { id: Number(data.e), kind: data.k, name: data.name ?? textOf(element), box: boxOf(box), center, interactive: isInteractive(element), state: stateOf(element) };
    const value = valueOf(element);
    if (value !== undefined) found.value = value;
    for (const name of ['color', 'shape', 'size', 'icon']) if (data[name] !== undefined) (found.attributes ??= {})[name] = data[name];
    for (const name of ['row', 'column', 'label']) if (data[name] !== undefined) found[name] = Number(data[name]);
    const parent = element.parentElement.closest('[data-e]');
    if (parent !== null) found.parent = Number(parent.dataset.e);
    if (data.k === 'heading') {
      const around = element.parentElement.getBoundingClientRect();
      headings.push({ name: found.name, heading: element, bottom: box[3], left: around.left, right: around.right });
    } else {
      const under = headingOver(element, box);
      if (under !== undefined) found.under = under;
    }
    return found;
  };
  addTexts();
  inFields();
  const elements = [...doc.querySelectorAll('[data-e]')].map(describe).filter((each) => each !== null);
  return { width, height, characters, elements };
}`;
