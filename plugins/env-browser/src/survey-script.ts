/** Selectors of elements, and the focused element, within one document. */
const SELECTORS_AND_FOCUS = `
  const quoted = (text) => '"' + String(text).replace(/["\\\\]/g, '\\\\$&') + '"';
  const isMade = (id) => /\\d{4,}|^[:_]|[:]r|^radix|^react/.test(id);
  const alone = (selector) => {
    try { return document.querySelectorAll(selector).length === 1; } catch { return false; }
  };
  const named = (element) => {
    const tag = element.localName;
    const found = [];
    if (element.id && !isMade(element.id)) found.push('#' + CSS.escape(element.id));
    for (const name of ['data-testid', 'data-test', 'name', 'aria-label', 'placeholder', 'href']) {
      const value = element.getAttribute(name);
      if (value && value.length <= 100) found.push(tag + '[' + name + '=' + quoted(value) + ']');
    }
    const [type, value] = [element.getAttribute('type'), element.getAttribute('value')];
    if (element.name && value && type !== 'password') {
      found.push(tag + '[name=' + quoted(element.name) + '][value=' + quoted(value) + ']');
    }
    return found.find(alone);
  };
  const selectorOf = (element) => {
    const steps = [];
    for (let each = element; each instanceof Element && each !== document.documentElement; each = each.parentElement) {
      const name = named(each);
      if (name !== undefined) return [name, ...steps].join(' > ');
      if (each === document.body) return ['body', ...steps].join(' > ');
      const alike = [...(each.parentElement?.children ?? [])].filter((other) => other.localName === each.localName);
      steps.unshift(alike.length > 1 ? each.localName + ':nth-of-type(' + (alike.indexOf(each) + 1) + ')' : each.localName);
    }
    return steps.join(' > ');
  };
  const isSecret = (element) => {
    if (!(element instanceof HTMLInputElement)) return false;
    return element.type === 'password' || /password|one-time-code|^cc-/.test(element.autocomplete ?? '');
  };
  const active = () => {
    const found = document.activeElement;
    return found === null || found === document.body || found === document.documentElement ? null : found;
  };
  // Of a component the element within, as far as it lets anybody look.
  const within = (element) => {
    const inner = element.shadowRoot?.activeElement ?? null;
    return inner === null ? element : within(inner);
  };
  const focusOf = (element) => {
    const inner = within(element);
    const selector = selectorOf(element) + (inner === element ? '' : ' >> ' + selectorOf(inner));
    const isFrame = /^(iframe|frame|object|embed|fencedframe)$/.test(inner.localName);
    return { selector, isFrame, isSecret: isSecret(inner), ...(isSecret(inner) ? { value: inner.value.slice(0, 2000) } : {}) };
  };`;

/** Runs in a document: the focused element; null if there is none. */
export const ACTIVE_ELEMENT = `(() => {
  ${SELECTORS_AND_FOCUS}
  const element = active();
  return element === null ? null : within(element);
})()`;

/** Runs in a document: describes its focused element. */
export const FOCUS = `(() => {
  ${SELECTORS_AND_FOCUS}
  const element = active();
  return element === null ? null : focusOf(element);
})()`;

/**
 * Runs in a page: a function of a point (CSS pixels of the viewport, or null) that reports what is visible and
 * stored. Selectors prefer names that authors choose: ids, test ids, names, labels; otherwise the position in the
 * document.
 */
export const PAGE_REPORT = `(at) => {
  const MAX_ELEMENTS = 400, MAX_LINES = 400, MAX_TEXT = 200, MAX_VALUE = 2000;
  ${SELECTORS_AND_FOCUS}
  const STATES = ['aria-expanded', 'aria-selected', 'aria-pressed', 'aria-current', 'aria-invalid', 'open', 'disabled', 'data-state'];
  const INTERACTIVE = 'input, textarea, select, button, summary, details, dialog, [contenteditable=""], [contenteditable="true"], ' +
    '[role], [aria-pressed], [aria-checked], [aria-expanded], [aria-selected], [id], [data-testid], [data-test]';
  const cut = (text) => String(text ?? '').replace(/\\s+/g, ' ').trim().slice(0, MAX_TEXT);
  const labelOf = (element) => {
    const labels = element.labels === undefined || element.labels === null ? [] : [...element.labels];
    return cut(element.getAttribute('aria-label') || labels.map((label) => label.innerText).join(' ') ||
      element.getAttribute('placeholder') || element.innerText || element.getAttribute('name') || element.localName).slice(0, 60);
  };
  const checkedOf = (element) => {
    if (element instanceof HTMLInputElement && /^(checkbox|radio)$/.test(element.type)) return element.checked;
    const told = element.getAttribute('aria-checked');
    return told === 'true' ? true : told === 'false' ? false : undefined;
  };
  const isVisible = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && height > 0 && getComputedStyle(element).visibility === 'visible';
  };
  const tell = (element) => {
    const told = { selector: selectorOf(element), label: labelOf(element), visible: isVisible(element), attributes: {} };
    const checked = checkedOf(element);
    if (checked !== undefined) told.checked = checked;
    const hasValue = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement || element instanceof HTMLSelectElement;
    if (hasValue && !isSecret(element) && checked === undefined && element.type !== 'hidden') told.value = element.value.slice(0, MAX_VALUE);
    if (!hasValue && element.childElementCount === 0) told.text = cut(element.innerText);
    for (const name of STATES) if (element.hasAttribute(name)) told.attributes[name] = element.getAttribute(name).slice(0, MAX_TEXT);
    return told;
  };
  const stored = (name) => {
    try {
      const storage = window[name];
      return Object.fromEntries(Object.keys(storage).slice(0, 100).map((key) => [key, String(storage.getItem(key)).slice(0, MAX_VALUE)]));
    } catch {
      return {};
    }
  };
  const hit = at === null ? null : document.elementFromPoint(at[0], at[1]);
  const aimed = hit === null ? null : (hit.closest('label')?.control ?? hit.closest('button, a, summary, [role=button], [role=switch], [role=checkbox], [role=tab]') ?? hit);
  const focused = active();
  const elements = [...document.querySelectorAll(INTERACTIVE)].slice(0, MAX_ELEMENTS);
  if (aimed !== null && !elements.includes(aimed)) elements.push(aimed);
  const lines = (document.body?.innerText ?? '').split('\\n').map(cut).filter((line) => line !== '').slice(0, MAX_LINES);
  return {
    lines,
    elements: elements.map(tell),
    storage: { local: stored('localStorage'), session: stored('sessionStorage') },
    target: aimed === null ? null : selectorOf(aimed),
    focus: focused === null ? null : focusOf(focused),
  };
}`;

/** Runs in the page's main world: data that its scripts put on `window`, as expressions and JSON. */
export const GLOBALS = `(() => {
  const MAX_GLOBALS = 50, MAX_CHARACTERS = 4000;
  const found = {};
  for (const name of Object.keys(window)) {
    if (Object.keys(found).length >= MAX_GLOBALS) break;
    if (!/^[A-Za-z_$][\\w$]*$/.test(name) || ['uirl', 'chrome', 'name', 'status', 'event'].includes(name)) continue;
    const { value, writable } = Object.getOwnPropertyDescriptor(window, name) ?? {};
    if (!writable || value === undefined || typeof value === 'function' || value instanceof EventTarget) continue;
    try {
      const json = JSON.stringify(value);
      if (json !== undefined && json.length <= MAX_CHARACTERS) found['window.' + name] = JSON.parse(json);
    } catch {
      // Not everything is data.
    }
  }
  return found;
})()`;
