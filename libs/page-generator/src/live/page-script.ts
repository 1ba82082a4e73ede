/**
 * The script that implements the widgets of a page, served to every page as one file. Attributes of a widget select
 * its behavior:
 *
 * - `data-body="b7"`: shows and hides the element with that id, and updates `aria-expanded`
 * - `data-shows="b7"`: shows it; `data-closes`: hides the nearest `data-closable`
 * - `data-popup`: a body that a click elsewhere hides
 * - `data-select="one"` or `"many"`: its children with `aria-selected` can be selected
 * - `data-by="-1"`: steps the value of the nearest stepper
 * - `data-pressable`: a toggle button
 * - `data-suggest="a|b"`: suggestions of a field
 * - `data-calendar`: a calendar of the preceding field
 * - `data-submit`: submits the nearest form
 * - `data-turn="1"`: selects the next element of a `data-select`
 * - `data-send`: adds the text of the last field to the bubbles of a conversation
 * - `data-sortable`: its children can be reordered by dragging
 *
 * `__parts` contains the value of every element that has one, by id; `__events` the events in order.
 */
export const PAGE_SCRIPT = String.raw`(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const events = [];
  const idOf = (element) => Number(element.closest('[data-e]')?.dataset.e ?? 0);
  const note = (element, event, value) => events.push({ id: idOf(element), event, value });
  const nameOf = (element) => element.dataset.name ?? element.innerText.replace(/\s+/g, ' ').trim();
  let nextId = 1 + Math.max(0, ...all('[data-e]').map((element) => Number(element.dataset.e)));

  const chosen = (element) => all('[aria-selected=true]', element).map(nameOf);
  const valueOf = (element) => {
    const kind = element.dataset.k;
    if (/^(checkbox|radio)$/.test(element.type ?? '')) return element.checked;
    if (element.tagName === 'SELECT') return element.selectedOptions[0]?.label ?? null;
    if (element.type === 'range') return Number(element.value);
    if (/^(INPUT|TEXTAREA)$/.test(element.tagName) && element.type !== 'button') return element.value;
    if (kind === 'slider' || kind === 'stepper') return Number(element.dataset.value);
    if (kind === 'dialog') return !element.hidden && element.closest('[hidden]') === null;
    if (kind === 'scroll container') return element.scrollTop;
    if (kind === 'drop target') return all('[data-k="drag source"]', element).map(nameOf);
    if (element.dataset.sortable !== undefined) return all('[data-e]', element).map(nameOf);
    if (element.getAttribute('role') === 'radiogroup') return all('input[type=radio]:checked', element).map(nameOf)[0] ?? null;
    if (element.dataset.select !== undefined) return element.dataset.select === 'one' ? (chosen(element)[0] ?? null) : chosen(element);
    if (element.hasAttribute('aria-pressed')) return element.getAttribute('aria-pressed') === 'true';
    if (element.hasAttribute('aria-expanded')) return element.getAttribute('aria-expanded') === 'true';
    if (element.hasAttribute('aria-selected')) return element.getAttribute('aria-selected') === 'true';
    return Number(element.dataset.clicks ?? 0);
  };
  Object.defineProperty(window, '__parts', { get: () => Object.fromEntries(all('[data-e]').map((element) => [element.dataset.e, valueOf(element)])) });
  window.__events = events;

  const ownerOf = (body) => body.madeFor ?? document.querySelector('[data-body="' + body.id + '"]');
  /** Places what has opened below its owner or, for lack of room, above; nothing around it cuts it off. */
  const place = (body) => {
    const owner = ownerOf(body).getBoundingClientRect();
    body.style.cssText += ';position:fixed;left:0;top:0;right:auto;bottom:auto';
    const { width, height } = body.getBoundingClientRect();
    const top = owner.bottom + height <= innerHeight ? owner.bottom : owner.top >= height ? owner.top - height : Math.max(0, innerHeight - height);
    body.style.left = Math.max(0, Math.min(owner.left, innerWidth - width)) + 'px';
    body.style.top = top + 'px';
  };
  const setOpen = (body, open) => {
    body.hidden = !open;
    if (open && body.dataset.popup !== undefined) place(body);
    ownerOf(body)?.setAttribute('aria-expanded', String(open));
  };
  const closePopups = (except) => all('[data-popup]').forEach((body) => {
    if (body.hidden || body.contains(except) || ownerOf(body)?.contains(except)) return;
    if (body.dataset.popup === 'made') body.remove();
    else setOpen(body, false);
  });

  const select = (element) => {
    const group = element.closest('[data-select]');
    if (group === null) return;
    const many = group.dataset.select === 'many';
    const selected = many ? element.getAttribute('aria-selected') !== 'true' : true;
    if (!many) all('[aria-selected]', group).filter((each) => each.closest('[data-select]') === group).forEach((each) => each.setAttribute('aria-selected', 'false'));
    element.setAttribute('aria-selected', String(selected));
    note(element, 'select', nameOf(element));
    if (element.dataset.panel === undefined) return;
    for (const each of all('[data-panel]', group)) byId(each.dataset.panel).hidden = each !== element;
  };

  const turn = (group, by) => {
    const pages = all('[aria-selected]', group).filter((each) => each.closest('[data-select]') === group);
    const next = pages[pages.findIndex((each) => each.getAttribute('aria-selected') === 'true') + by];
    if (next !== undefined) select(next);
  };

  const setStepper = (stepper, value) => {
    const { min, max } = stepper.dataset;
    const next = Math.min(Number(max ?? Infinity), Math.max(Number(min ?? -Infinity), value));
    stepper.dataset.value = String(next);
    const shown = stepper.querySelector('[data-shown]');
    if (shown.tagName === 'INPUT') shown.value = String(next);
    else shown.textContent = String(next);
    note(stepper, 'change', next);
  };

  const send = () => {
    const field = all('input.f').at(-1);
    if (field.value === '') return;
    const bubbles = document.querySelector('[data-bubbles]'), bubble = document.createElement('span');
    bubble.className = 'bubble';
    bubble.style.cssText = 'background:var(--ac);color:var(--oa);align-self:flex-end';
    bubble.dataset.e = String(nextId++);
    bubble.dataset.k = 'text';
    bubble.textContent = field.value;
    bubbles.append(bubble);
    note(bubble, 'send', field.value);
    field.value = '';
  };

  const fields = (form) => Object.fromEntries(all('input, select, textarea', form).filter((each) => each.dataset.e !== undefined).map((each) => [each.dataset.e, valueOf(each)]));

  const onClick = (event) => {
    const { target } = event;
    if (!(target instanceof Element)) return;
    const row = target.closest('[data-popup=made] > [role=option]');
    if (row !== null) return choose(row);
    if (target.closest('a') !== null) event.preventDefault();
    closePopups(target);
    const element = target.closest('[data-e]');
    if (element === null || element.matches(':disabled, [aria-disabled=true]')) return;
    element.dataset.clicks = String(Number(element.dataset.clicks ?? 0) + 1);
    note(element, 'click');
    const acting = target.closest('[data-body], [data-shows], [data-closes], [aria-selected], [data-by], [data-pressable], [data-submit], [data-turn], [data-send], [role=menuitem], [data-day], [data-month]');
    if (acting === null) return;
    if (acting.hasAttribute('aria-selected')) select(acting);
    const { body, shows, by, pressable, submit, day, month } = acting.dataset;
    if (body !== undefined) setOpen(byId(body), byId(body).hidden);
    if (shows !== undefined) byId(shows).hidden = false;
    if (acting.dataset.closes !== undefined) acting.closest('[data-closable]').hidden = true;
    if (by !== undefined) setStepper(acting.closest('[data-value]'), Number(acting.closest('[data-value]').dataset.value) + Number(by));
    if (pressable !== undefined) acting.setAttribute('aria-pressed', String(acting.getAttribute('aria-pressed') !== 'true'));
    if (submit !== undefined) note(acting, 'submit', fields(acting.closest('[data-form]') ?? document));
    if (acting.dataset.turn !== undefined) turn(acting.closest('[data-select]'), Number(acting.dataset.turn));
    if (acting.dataset.send !== undefined) send();
    if (day !== undefined || month !== undefined) calendarClick(acting);
    if (acting.getAttribute('role') === 'menuitem' && body === undefined) all('[data-popup]').filter((each) => each.contains(acting)).forEach((each) => setOpen(each, false));
  };

  /** A list below or above a field or select; what it holds is made when it opens. */
  const openList = (owner, names, look) => {
    all('[data-popup=made]').forEach((each) => each.remove());
    if (names.length === 0) return;
    const list = document.createElement('div');
    list.dataset.popup = 'made';
    list.madeFor = owner;
    list.className = 'pop ' + look;
    list.setAttribute('role', 'listbox');
    const known = (owner.dataset.items ?? '').split(' ');
    names.forEach(({ name, at, selected }) => {
      const row = document.createElement('div');
      row.textContent = name;
      row.dataset.e = known[at] || String(nextId++);
      row.dataset.k = look === 'suggest' ? 'suggestion' : 'option';
      row.setAttribute('role', 'option');
      if (selected) row.className = 'hot';
      row.dataset.at = String(at);
      list.append(row);
    });
    document.body.append(list);
    const rect = owner.getBoundingClientRect();
    const below = innerHeight - rect.bottom, height = Math.min(list.offsetHeight, Math.max(below, rect.top));
    list.style.minWidth = rect.width + 'px';
    list.style.maxWidth = innerWidth + 'px';
    list.style.maxHeight = height + 'px';
    list.style.left = Math.max(0, Math.min(rect.left, innerWidth - list.offsetWidth)) + 'px';
    list.style.top = (below >= list.offsetHeight || below >= rect.top ? rect.bottom : rect.top - height) + 'px';
    list.querySelector('.hot')?.scrollIntoView({ block: 'nearest' });
  };
  const openSelect = (select) => openList(select, [...select.options].map((option, at) => ({ name: option.label, at, selected: option.selected })), select.dataset.look);
  /** Takes a row of a list that is open. */
  const choose = (row) => {
    const list = row.closest('[data-popup=made]'), owner = list.madeFor ?? list.previousElementSibling;
    note(row, 'click');
    if (owner.tagName === 'SELECT') owner.selectedIndex = Number(row.dataset.at);
    else owner.value = owner.dataset.suggest.split('|')[Number(row.dataset.at)];
    note(owner, 'change', valueOf(owner));
    list.remove();
  };
  const isSelect = (target) => target instanceof HTMLSelectElement && target.size < 2 && !target.disabled;
  const suggest = (field) => {
    const typed = field.value.toLowerCase();
    const names = field.dataset.suggest.split('|').map((name, at) => ({ name, at })).filter(({ name }) => typed !== '' && name.toLowerCase().includes(typed) && name.toLowerCase() !== typed);
    openList(field, names.slice(0, 6), 'suggest');
  };

  const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
  const calendarClick = (acting) => {
    const calendar = acting.closest('[data-calendar]');
    const [year, month] = calendar.dataset.calendar.split('-').map(Number);
    if (acting.dataset.month !== undefined) {
      const moved = new Date(Date.UTC(year, month - 1 + Number(acting.dataset.month), 1));
      drawCalendar(calendar, moved.getUTCFullYear(), moved.getUTCMonth() + 1);
      return;
    }
    const two = (value) => String(value).padStart(2, '0');
    const text = calendar.dataset.format.replace('Y', year).replace('M', two(month)).replace('D', two(acting.dataset.day));
    const field = document.querySelector('[data-body="' + calendar.id + '"]');
    if (field !== null) field.value = text;
    calendar.dataset.value = text;
    all('[data-day]', calendar).forEach((each) => each.classList.toggle('hot', each === acting));
    note(field ?? calendar, 'change', text);
    if (calendar.dataset.popup !== undefined) setOpen(calendar, false);
  };
  const drawCalendar = (calendar, year, month) => {
    calendar.dataset.calendar = year + '-' + month;
    calendar.querySelector('[data-title]').textContent = MONTHS[month - 1] + ' ' + year;
    const before = (new Date(Date.UTC(year, month - 1, 1)).getUTCDay() + 6) % 7, days = new Date(Date.UTC(year, month, 0)).getUTCDate();
    const cells = all('[data-cell]', calendar);
    cells.forEach((cell, at) => {
      const day = at - before + 1, exists = day >= 1 && day <= days;
      cell.textContent = exists ? String(day) : '';
      cell.classList.remove('hot');
      for (const [name, value] of [['day', day], ['e', cell.dataset.cell], ['k', 'date'], ['name', String(day)]]) {
        if (exists) cell.dataset[name] = String(value);
        else delete cell.dataset[name];
      }
    });
  };

  let held = null;
  const onDown = (event) => {
    const { target } = event;
    if (!(target instanceof Element)) return;
    // The field keeps the focus while its list is used.
    if (target.closest('[data-popup=made]') !== null) return event.preventDefault();
    if (isSelect(target)) {
      event.preventDefault();
      target.focus();
      const isOpen = all('[data-popup=made]').some((list) => list.madeFor === target);
      closePopups(null);
      if (!isOpen) openSelect(target);
      return;
    }
    const track = target.closest('[data-track]');
    if (track !== null) {
      event.preventDefault();
      track.focus();
      held = { track };
      return moveThumb(track, event.clientX);
    }
    const source = target.closest('[data-k="drag source"]');
    if (source === null) return;
    event.preventDefault();
    const { position, left, top } = getComputedStyle(source);
    held = { source, x: event.clientX, y: event.clientY, left: position === 'absolute' ? parseFloat(left) : 0, top: position === 'absolute' ? parseFloat(top) : 0, free: position === 'absolute' };
    source.classList.add('held');
  };
  const onMove = (event) => {
    if (held === null) return;
    if (held.track !== undefined) return moveThumb(held.track, event.clientX);
    held.source.style.transform = 'translate(' + (event.clientX - held.x) + 'px,' + (event.clientY - held.y) + 'px)';
  };
  const onUp = (event) => {
    if (held === null) return;
    const { source, track } = held;
    held = held.track === undefined ? held : null;
    if (track !== undefined) return note(track, 'change', Number(track.dataset.value));
    source.style.pointerEvents = 'none';
    const under = document.elementFromPoint(event.clientX, event.clientY);
    source.style.pointerEvents = source.style.transform = '';
    source.classList.remove('held');
    const target = under?.closest('[data-k="drop target"]');
    const list = source.closest('[data-sortable]');
    if (target !== null && target !== undefined) {
      (target.querySelector('[data-drops]') ?? target).append(source);
      source.style.position = 'static';
      note(source, 'drop', Number(target.dataset.e));
    } else if (list !== null && under !== null && list.contains(under)) {
      const rows = [...list.children].filter((each) => each !== source);
      const next = rows.find((each) => { const rect = each.getBoundingClientRect(); return event.clientY < rect.top + rect.height / 2; });
      list.insertBefore(source, next ?? null);
      note(source, 'sort', [...list.children].map(nameOf));
    } else if (held.free) {
      source.style.left = held.left + event.clientX - held.x + 'px';
      source.style.top = held.top + event.clientY - held.y + 'px';
      note(source, 'move', [event.clientX, event.clientY]);
    }
    held = null;
  };
  const setTrack = (track, value) => {
    const { min, max, step } = track.dataset;
    const stepped = Number(min) + Math.round((value - min) / step) * step;
    const next = Math.min(Number(max), Math.max(Number(min), stepped));
    track.dataset.value = String(next);
    track.querySelector('[data-thumb]').style.left = (100 * (next - min)) / (max - min) + '%';
    showValue(track, next);
  };
  const moveThumb = (track, x) => {
    const rect = track.getBoundingClientRect(), { min, max } = track.dataset;
    setTrack(track, Number(min) + ((x - rect.left) / rect.width) * (max - min));
  };
  const showValue = (element, value) => {
    const shown = element.dataset.e === undefined ? null : document.querySelector('[data-shows-value="' + element.dataset.e + '"]');
    if (shown !== null) shown.textContent = String(value);
  };

  const onKey = (event) => {
    const { target, key } = event;
    if (isSelect(target) && (key === 'Enter' || key === ' ')) {
      event.preventDefault();
      openSelect(target);
    }
    if (key === 'Escape') {
      closePopups(null);
      all('[data-closable]').filter((each) => each.dataset.k === 'dialog').forEach((each) => (each.hidden = true));
    }
    const track = target.closest?.('[data-track]');
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
    if (track !== null && track !== undefined && moves[key] !== undefined) {
      event.preventDefault();
      setTrack(track, Number(track.dataset.value) + moves[key] * track.dataset.step);
      note(track, 'change', Number(track.dataset.value));
    }
    if (key === 'Enter' && target instanceof HTMLInputElement && target.dataset.e !== undefined) {
      note(target, 'enter', target.value);
      if (document.querySelector('[data-send]') !== null) send();
    }
    if ((key === 'Enter' || key === ' ') && target.getAttribute?.('role') !== null && target.tabIndex === 0 && target.dataset.e !== undefined && !(target instanceof HTMLInputElement)) {
      event.preventDefault();
      target.click();
    }
  };
  const onInput = ({ target }) => {
    if (target.dataset.suggest !== undefined) suggest(target);
    if (target.dataset.shown !== undefined) target.closest('[data-value]').dataset.value = String(Number(target.value));
    if (target.type === 'range') showValue(target, target.value);
  };
  const onChange = ({ target }) => {
    if (target.dataset.e !== undefined) note(target, 'change', valueOf(target));
  };
  for (const [name, handler] of [['click', onClick], ['mousedown', onDown], ['mousemove', onMove], ['mouseup', onUp], ['keydown', onKey], ['input', onInput], ['change', onChange]]) {
    document.addEventListener(name, handler, name === 'mousedown');
  }
  document.addEventListener('submit', (event) => event.preventDefault());
  document.addEventListener('contextmenu', (event) => event.preventDefault());
})();`;
