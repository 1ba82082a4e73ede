/** Name of the global through which the environment queries leftovers. */
export const WATCH = '__uirlWatch';

/**
 * Runs in a document before its own scripts and records what outlives an episode, with the episode that created it: 0
 * while the page loads, n from the nth reset on. Work started by a timer belongs to the timer's episode. It does not
 * change the page's behavior. `window.__uirlWatch`:
 * - `begin()` before a reset: removes global variables that appeared since the first one,
 * - `leftovers()` after it: traces of earlier episodes, as text.
 */
export const WATCH_SCRIPT = `(() => {
  /** Are asked for at each reset, so that a page cannot replace them. */
  const { getOwnPropertyNames, getOwnPropertyDescriptor, defineProperty } = Object;
  const apply = Reflect.apply;
  let episode = 0;
  /** Of the timer that is running; null outside of timers. */
  let origin = null;
  const now = () => origin ?? episode;
  /** Each remaining timer → the episode that it came from. */
  const timers = new Map();
  const observers = new Map();
  const heavy = new Set();

  function asOf(since, work) {
    const before = origin;
    origin = since;
    try {
      return work();
    } finally {
      origin = before;
    }
  }

  function watchTimer(kind, start, stop, repeats) {
    const [begin, end] = [window[start], window[stop]];
    window[start] = function (callback, ...rest) {
      const since = now();
      const run = typeof callback !== 'function' ? callback : function (...args) {
        if (!repeats) timers.delete(kind + id);
        return asOf(since, () => apply(callback, this, args));
      };
      const id = apply(begin, window, [run, ...rest]);
      timers.set(kind + id, { what: start, since });
      return id;
    };
    window[stop] = function (id) {
      timers.delete(kind + id);
      return apply(end, window, [id]);
    };
  }
  // Either of the two stops what the other has started.
  watchTimer('timer', 'setTimeout', 'clearTimeout', false);
  watchTimer('timer', 'setInterval', 'clearInterval', true);
  watchTimer('frame', 'requestAnimationFrame', 'cancelAnimationFrame', false);
  watchTimer('idle', 'requestIdleCallback', 'cancelIdleCallback', false);

  /** Listeners of a target, and all targets that have had some. */
  const listenersOf = new WeakMap();
  let targets = [];
  let forgetAt = 1000;
  function listeners(target) {
    let list = listenersOf.get(target);
    if (list === undefined) {
      listenersOf.set(target, (list = []));
      targets.push(new WeakRef(target));
      if (targets.length > forgetAt) {
        targets = targets.filter((each) => each.deref() !== undefined);
        forgetAt = 1000 + 2 * targets.length;
      }
    }
    return list;
  }
  function forget(target, type, listener, capture) {
    const list = listeners(target);
    const at = list.findIndex((each) => each.type === type && each.listener === listener && each.capture === capture);
    if (at >= 0) list.splice(at, 1);
  }
  const captures = (options) => (typeof options === 'object' && options !== null ? options.capture === true : options === true);
  const proto = EventTarget.prototype;
  const { addEventListener: add, removeEventListener: remove } = proto;
  proto.addEventListener = function (type, listener, options) {
    const target = this ?? window;
    const capture = captures(options);
    const result = apply(add, target, [type, listener, options]);
    if (listener === null || listener === undefined || options?.signal?.aborted) return result;
    const list = listeners(target);
    const known = list.some((each) => each.type === String(type) && each.listener === listener && each.capture === capture);
    if (known) return result;
    list.push({ type: String(type), listener, capture, since: now() });
    const gone = () => forget(target, String(type), listener, capture);
    if (options?.once) apply(add, target, [type, gone, { capture, once: true }]);
    if (options?.signal) apply(add, options.signal, ['abort', gone, { once: true }]);
    return result;
  };
  proto.removeEventListener = function (type, listener, options) {
    forget(this ?? window, String(type), listener, captures(options));
    return apply(remove, this ?? window, [type, listener, options]);
  };
  // onclick = … and all others like it.
  for (const holder of [window, Document.prototype, HTMLElement.prototype, SVGElement.prototype, HTMLBodyElement.prototype]) {
    for (const name of getOwnPropertyNames(holder)) {
      const known = /^on[a-z]+$/.test(name) ? getOwnPropertyDescriptor(holder, name) : undefined;
      if (known?.set === undefined || !known.configurable) continue;
      defineProperty(holder, name, {
        ...known,
        set(handler) {
          apply(known.set, this, [handler]);
          const target = this ?? window;
          const list = listeners(target).filter((each) => each.listener !== name);
          if (typeof handler === 'function') list.push({ type: name, listener: name, capture: false, since: now() });
          listenersOf.set(target, list);
        },
      });
    }
  }

  for (const name of ['MutationObserver', 'ResizeObserver', 'IntersectionObserver', 'PerformanceObserver']) {
    const { observe, disconnect } = window[name].prototype;
    window[name].prototype.observe = function (...args) {
      if (!observers.has(this)) observers.set(this, { what: name, since: now() });
      return apply(observe, this, args);
    };
    window[name].prototype.disconnect = function () {
      observers.delete(this);
      return apply(disconnect, this, []);
    };
  }

  // A page cannot forget these, or they cannot be taken from it: a page that uses one is loaded anew.
  for (const name of ['Worker', 'SharedWorker', 'BroadcastChannel', 'WebSocket', 'EventSource', 'RTCPeerConnection', 'AudioContext']) {
    if (window[name] === undefined) continue;
    window[name] = new Proxy(window[name], {
      construct(made, args, target) {
        heavy.add(name);
        return Reflect.construct(made, args, target);
      },
    });
  }
  for (const [holder, name] of [
    [window.IDBFactory, 'open'],
    [window.CacheStorage, 'open'],
    [window.StorageManager, 'getDirectory'],
    [window.StorageBucketManager, 'open'],
    [window.LockManager, 'request'],
    [window.ServiceWorkerContainer, 'register'],
    [window.CustomElementRegistry, 'define'],
    [window.Document, 'open'],
    [window.Document, 'write'],
  ]) {
    const call = holder?.prototype[name];
    if (call === undefined) continue;
    // Definitions and writes during the load belong to the page.
    const isOfPage = name === 'define' || name === 'write';
    holder.prototype[name] = function (...args) {
      if (!(isOfPage && now() === 0)) heavy.add(holder.name + '.' + name);
      return apply(call, this, args);
    };
  }

  /** Built-ins that any script relies on; Math.random is replaced after each seed. */
  const BUILTINS = ['Object', 'Function', 'Array', 'String', 'Number', 'Boolean', 'Symbol', 'Date', 'RegExp', 'Promise', 'Map', 'Set', 'Error', 'JSON',
    'Math', 'Reflect', 'EventTarget', 'Node', 'Element', 'HTMLElement', 'HTMLInputElement', 'Document', 'Event', 'MouseEvent', 'Storage', 'CSSStyleDeclaration'];
  function builtins() {
    const found = [];
    for (const name of BUILTINS) {
      for (const holder of [window[name], window[name]?.prototype]) {
        if (holder === undefined) continue;
        for (const key of Reflect.ownKeys(holder)) {
          if (holder === Math && key === 'random') continue;
          const { value, get, set } = getOwnPropertyDescriptor(holder, key);
          found.push(key, value, get, set);
        }
      }
    }
    return found;
  }

  /** Of the document as its first episode began. */
  let globals = null;
  let natives = null;
  const newGlobals = () => getOwnPropertyNames(window).filter((name) => !globals.has(name) && !/^[0-9]+$/.test(name));

  function begin() {
    if (globals !== null) for (const name of newGlobals()) delete window[name];
    episode++;
  }

  function isLeft({ since }) {
    return since > 0 && since < episode;
  }

  function leftovers() {
    if (globals === null) {
      globals = new Set(getOwnPropertyNames(window));
      natives = builtins();
      return [];
    }
    const left = [...heavy];
    for (const each of [...timers.values(), ...observers.values()]) if (isLeft(each)) left.push(each.what);
    for (const target of targets) {
      const at = target.deref();
      // Elements outside the document receive no events.
      if (at === undefined || (at instanceof Node && !at.isConnected)) continue;
      for (const each of listenersOf.get(at) ?? []) if (isLeft(each)) left.push('listener of ' + each.type);
    }
    const names = newGlobals().filter((name) => getOwnPropertyDescriptor(window, name)?.configurable === false);
    for (const name of names) left.push('global ' + name);
    const found = builtins();
    if (found.length !== natives.length || found.some((each, at) => !Object.is(each, natives[at]))) left.push('changed builtin');
    if (window.length > 0) left.push('frame');
    if (document.fullscreenElement !== null) left.push('full screen');
    if (document.pointerLockElement !== null) left.push('pointer lock');
    if (window.visualViewport.scale !== 1) left.push('zoom');
    return left;
  }

  defineProperty(window, '${WATCH}', { value: { begin, leftovers } });
})();`;
