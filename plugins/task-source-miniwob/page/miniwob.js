// Adds the functions of `window.uirl` to a page of MiniWoB++, before its own scripts run. It relies on the documented
// interface of the pages (docs/content/javascript_api.md there): core.startEpisodeReal, core.getUtterance,
// core.setDataMode, core.EPISODE_MAX_TIME, the WOB_… globals, Math.seedrandom, and the ids of elements drawn for
// people.
(() => {
  /** Milliseconds: longer than any episode, so that no page ends one by its timer; the maximum of timers. */
  const NO_TIMER = 2_000_000_000;
  /** Maximum wait for the animations of an action: some pages have endless ones. */
  const ANIMATED_MS = 1_000;
  const FOR_PEOPLE = '#reward-display, #click-canvas, #sync-task-cover { display: none !important; }';
  const HIDDEN_QUERY =
    '#query { color: transparent !important; } #query * { visibility: hidden !important; }';

  /** The utterance at the start of the episode; null before that, and in documents after a navigation. */
  let asked = null;

  const frame = () => new Promise((done) => requestAnimationFrame(() => done()));

  /** Belongs to this document, which may be reset many times. */
  const style = document.createElement('style');

  function hide({ query }) {
    style.textContent = query === 'hidden' ? FOR_PEOPLE + HIDDEN_QUERY : FOR_PEOPLE;
    document.head.append(style);
  }

  /** Backgrounds that this document has loaded. */
  const backgrounds = new Set();

  /** Images that the page created for this episode, and those in its style sheets, such as icons. */
  async function loadImages() {
    const loading = [...document.images].filter(({ complete }) => !complete);
    const named = [...document.body.querySelectorAll('*')].flatMap((each) =>
      [...getComputedStyle(each).backgroundImage.matchAll(/url\("(.*?)"\)/g)].map(([, url]) => url),
    );
    for (const url of named.filter((each) => !backgrounds.has(each))) {
      backgrounds.add(url);
      loading.push(Object.assign(new Image(), { src: url }));
    }
    await Promise.all(loading.map((image) => image.decode().catch(() => undefined)));
    await document.fonts.ready;
  }

  function readQuery() {
    const said = core.getUtterance();
    return typeof said === 'string' ? { goal: said } : { goal: said.utterance, fields: said.fields };
  }

  async function reset({ seed, query = 'readable', data_mode = 'default' }) {
    hide({ query });
    core.setDataMode(data_mode);
    core.EPISODE_MAX_TIME = NO_TIMER;
    Math.seedrandom(seed);
    core.startEpisodeReal();
    while (!WOB_TASK_READY) await frame();
    await loadImages();
    asked = readQuery();
    await settled();
  }

  async function settled() {
    await frame();
    const until = performance.now() + ANIMATED_MS;
    while (window.jQuery?.timers?.length > 0 && performance.now() < until) await frame();
  }

  function state() {
    if (asked === null)
      return {
        raw_reward: 0,
        reward: 0,
        done: true,
        success: false,
        positive: false,
        reason: 'the page was left',
      };
    const done = WOB_DONE_GLOBAL;
    const raw = done ? Number(WOB_RAW_REWARD_GLOBAL) : 0;
    return {
      ...asked,
      raw_reward: raw,
      reward: done ? Number(WOB_REWARD_GLOBAL) : 0,
      done,
      success: done && raw === 1,
      positive: done && raw > 0,
      reason: WOB_REWARD_REASON ?? null,
    };
  }

  window.uirl = { reset, settled, state, done: () => asked === null || WOB_DONE_GLOBAL };
})();
