import { pageText } from './page-text';

/** Maximum length of an element's name or value, in characters. */
const MAX_NAME = 200;
/** Maximum indentation; deeper elements are shown at this level. */
const MAX_DEPTH = 24;

/**
 * A node of Chromium's accessibility tree, reduced to the fields read here. Names, values and descriptions come from
 * the page and are untrusted.
 */
export interface AxNode {
  nodeId: string;
  ignored: boolean;
  role?: { value?: unknown };
  name?: { value?: unknown };
  value?: { value?: unknown };
  description?: { value?: unknown };
  properties?: { name: string; value: { value?: unknown } }[];
  parentId?: string;
  childIds?: string[];
  backendDOMNodeId?: number;
}

/** An element as a line of text. */
export interface AxLine {
  depth: number;
  /** `button "Save" disabled`. */
  text: string;
  role: string;
  /** The DOM node it describes; undefined if there is none. */
  backendNodeId: number | undefined;
}

/** Roles without information; their children take their place. */
const TRANSPARENT = new Set([
  ...[
    'none',
    'generic',
    'presentation',
    'LineBreak',
    'InlineTextBox',
    'ListMarker',
    'LabelText',
    'StaticText',
  ],
  'paragraph',
]);
/** Roles whose name repeats their content. */
const NAMED_BY_CONTENT = new Set([
  ...[
    'button',
    'cell',
    'checkbox',
    'columnheader',
    'gridcell',
    'heading',
    'link',
    'menuitem',
    'option',
    'radio',
  ],
  ...[
    'row',
    'rowheader',
    'switch',
    'tab',
    'tooltip',
    'treeitem',
    'menuitemcheckbox',
    'menuitemradio',
    'Legend',
  ],
]);
/** Roles whose children only repeat their value. */
const VALUED = new Set(['textbox', 'searchbox', 'spinbutton', 'slider', 'meter', 'progressbar']);

/** The lines of one document, in document order. @param depth indentation of its root */
export function linesOf(nodes: readonly AxNode[], depth = 0): AxLine[] {
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const lines: AxLine[] = [];
  // Iterative, since pages may nest deeper than the call stack allows.
  const open: Visit[] = nodes
    .filter(({ parentId }) => parentId === undefined || !byId.has(parentId))
    .toReversed()
    .map((node) => ({ node, depth, around: null }));
  const seen = new Set<AxNode>();
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const { node } = visit;
    if (seen.has(node)) continue;
    seen.add(node);
    const line = lineOf(visit);
    if (line !== null) lines.push(line);
    if (line !== null && VALUED.has(line.role) && wordOf(node.value) !== '') continue;
    const inside = {
      depth: visit.depth + (line === null ? 0 : 1),
      around: line === null ? visit.around : { name: wordOf(node.name), role: line.role },
    };
    for (const id of (node.childIds ?? []).toReversed()) {
      const child = byId.get(id);
      if (child !== undefined) open.push({ node: child, ...inside });
    }
  }
  return lines;
}

interface Visit {
  node: AxNode;
  depth: number;
  /** The nearest enclosing line. */
  around: { name: string; role: string } | null;
}

/** Whether the enclosing line already contains this text. */
function isSaid(text: string, around: Visit['around']): boolean {
  if (around === null) return false;
  return around.name === text || (NAMED_BY_CONTENT.has(around.role) && around.name.includes(text));
}

function lineOf({ node, depth, around }: Visit): AxLine | null {
  const role = typeof node.role?.value === 'string' ? node.role.value : '';
  const name = wordOf(node.name);
  const isText = role === 'StaticText';
  const isTold = isText ? name !== '' && !isSaid(name, around) : role !== '' && !TRANSPARENT.has(role);
  if (node.ignored || !isTold) return null;
  const words = [isText ? 'text' : roleName(role), ...(name === '' ? [] : [JSON.stringify(name)])];
  return {
    depth: Math.min(depth, MAX_DEPTH),
    text: [...words, ...states(node, role)].join(' '),
    role,
    backendNodeId: node.backendDOMNodeId,
  };
}

/** The ARIA role name, where Chromium uses a different one. */
function roleName(role: string): string {
  if (role === 'RootWebArea') return 'page';
  return /^\w{1,40}$/.test(role) ? role : 'element';
}

function states(node: AxNode, role: string): string[] {
  const properties = new Map((node.properties ?? []).map(({ name, value }) => [name, value.value]));
  const value = wordOf(node.value);
  const is = (name: string) => properties.get(name) === true || properties.get(name) === 'true';
  const told = [
    ...(value === '' || value === wordOf(node.name) ? [] : [`= ${JSON.stringify(value)}`]),
    ...rangeOf(properties),
    ...eitherOf(properties.get('checked'), 'checked', 'not checked'),
    ...eitherOf(properties.get('pressed'), 'pressed', 'not pressed'),
    ...eitherOf(properties.get('expanded'), 'expanded', 'collapsed'),
  ];
  for (const name of ['selected', 'disabled', 'readonly', 'required'] as const) if (is(name)) told.push(name);
  const invalid = properties.get('invalid');
  if (invalid !== undefined && invalid !== false && invalid !== 'false') told.push('invalid');
  if (is('focused') && role !== 'RootWebArea') told.push('focused');
  return told;
}

function rangeOf(properties: ReadonlyMap<string, unknown>): string[] {
  const [low, high] = [properties.get('valuemin'), properties.get('valuemax')];
  return typeof low === 'number' && typeof high === 'number' && high > low ? [`of ${low} to ${high}`] : [];
}

function eitherOf(value: unknown, yes: string, no: string): string[] {
  if (value === true || value === 'true') return [yes];
  if (value === 'mixed') return [`partly ${yes}`];
  return value === false || value === 'false' ? [no] : [];
}

/** Text from the page, on one line and truncated. */
function wordOf(said: { value?: unknown } | undefined): string {
  const value = said?.value;
  if (typeof value !== 'string' && typeof value !== 'number') return '';
  return pageText(String(value), MAX_NAME).replaceAll(/\s+/g, ' ');
}
