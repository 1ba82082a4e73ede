interface Block {
  head: string;
  body: string;
}

/** The top-level rules of a stylesheet without comments; statements without a block are omitted. */
function blocks(css: string): Block[] {
  const found: Block[] = [];
  let start = 0;
  for (let at = 0; at < css.length; at++) {
    if (css[at] === ';') start = at + 1;
    if (css[at] !== '{') continue;
    const open = at;
    for (let depth = 1; depth > 0 && at < css.length - 1;) {
      at += 1;
      if (css[at] === '{') depth += 1;
      if (css[at] === '}') depth -= 1;
    }
    found.push({ head: css.slice(start, open).trim(), body: css.slice(open + 1, at) });
    start = at + 1;
  }
  return found;
}

function classesOf(selector: string): string[] {
  return [...selector.matchAll(/\.(-?[_a-zA-Z][\w-]*)/g)].map(([, name]) => name);
}

/** The selectors of a list that can match elements with only these classes. */
function reachable(head: string, classes: ReadonlySet<string>): string[] {
  return head
    .split(/,(?![^()]*\))/)
    .map((each) => each.trim())
    .filter((selector) =>
      classesOf(selector.replace(/:not\([^)]*\)/g, '')).every((name) => classes.has(name)),
    );
}

function pruneBlock({ head, body }: Block, classes: ReadonlySet<string>): string {
  if (/^@(media|supports|layer)/.test(head)) {
    if (/\bprint\b/.test(head)) return '';
    const inner = pruneCss(body, classes);
    return inner === '' ? '' : `${head}{${inner}}`;
  }
  if (head.startsWith('@')) return '';
  const selectors = reachable(head, classes);
  return selectors.length === 0 ? '' : `${selectors.join(',')}{${body}}`;
}

/**
 * Removes rules that cannot match any element of a page: a browser would match every rule of a large kit anew for
 * every page. Removes fonts, animations and imports as well.
 */
export function pruneCss(css: string, classes: ReadonlySet<string>): string {
  return blocks(css.replace(/\/\*[^]*?\*\//g, ''))
    .map((block) => pruneBlock(block, classes))
    .join('');
}
