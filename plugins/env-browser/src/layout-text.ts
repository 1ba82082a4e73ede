import type { CDPSession } from 'playwright';

/** Values of a few nodes: node indices, and for each an index into the strings or documents. */
interface RareValues {
  index: number[];
  value: number[];
}

/**
 * The fields read from one document of `DOMSnapshot.captureSnapshot`, by node index; texts are indices into the
 * strings.
 */
interface LayoutDocument {
  nodes: {
    parentIndex?: number[];
    nodeName?: number[];
    nodeValue?: number[];
    backendNodeId?: number[];
    attributes?: number[][];
    pseudoType?: RareValues;
    inputValue?: RareValues;
    textValue?: RareValues;
    contentDocumentIndex?: RareValues;
    optionSelected?: { index: number[] };
  };
  layout: { nodeIndex: number[]; text: number[]; styles: number[][] };
}

interface Layout {
  documents: LayoutDocument[];
  strings: string[];
}

/** Everything that one browser process draws of a page, including frames in the same process. */
export function captureLayout(session: CDPSession): Promise<Layout> {
  return session.send('DOMSnapshot.captureSnapshot', { computedStyles: ['display', 'visibility'] });
}

/** A text, or the element of a frame drawn by another process, by its backend node id. */
export type Piece = string | { backendNodeId: number };

const FRAMES = ['IFRAME', 'FRAME', 'FENCEDFRAME'];
/** Elements separated from the text around them even on the same line. */
const APART = new Set(['BUTTON', 'INPUT', 'SELECT', 'TEXTAREA', 'OBJECT', ...FRAMES]);
/** Elements whose rendered text is not page text, must stay secret, or depends on the browser's language. */
const WITHOUT_TEXT =
  /^(password|hidden|checkbox|radio|range|color|file|image|date|time|month|week|datetime-local)$/i;
const INLINE = /^(inline|contents|ruby)/;
const BREAK = '\n';

/** The text pieces of a document in layout order, with line breaks between blocks and around form controls. */
export function textPieces(layout: Layout, place = 0): Piece[] {
  return new LayoutReader(layout, layout.documents[place]).pieces();
}

class LayoutReader {
  /** Node index → layout index. */
  private readonly laidOut: ReadonlyMap<number, number>;
  private readonly generated: ReadonlySet<number>;
  private readonly selected: ReadonlySet<number>;
  private readonly names: readonly string[];
  private readonly parents: readonly number[];

  constructor(
    private readonly layout: Layout,
    private readonly document: LayoutDocument,
  ) {
    const { nodes, layout: tree } = document;
    this.laidOut = new Map(tree.nodeIndex.map((node, place) => [node, place]));
    this.generated = new Set(nodes.pseudoType?.index);
    this.selected = new Set(nodes.optionSelected?.index);
    this.names = nodes.nodeName!.map((name) => this.string(name).toUpperCase());
    this.parents = nodes.parentIndex!;
  }

  pieces(): Piece[] {
    const pieces: Piece[] = [];
    let block: number | undefined;
    for (const [place, node] of this.document.layout.nodeIndex.entries()) {
      if (this.generated.has(node) || !this.isVisible(place)) continue;
      const found = this.piecesOf(node, place);
      if (found.length === 0) continue;
      const within = this.blockOf(node);
      pieces.push(...(within === block ? [] : [BREAK]), ...found);
      block = within;
    }
    return pieces;
  }

  private piecesOf(node: number, place: number): Piece[] {
    const name = this.names[node];
    const text = this.string(this.document.layout.text[place]);
    if (text !== '') return [text];
    if (name === 'INPUT' || name === 'TEXTAREA') return [this.filledIn(node)];
    if (name === 'SELECT') return this.shownOptions(node);
    if (name === 'OPTION') return this.holdsText(node) ? [] : [this.optionText(node)];
    return this.piecesOfFrame(node, name);
  }

  private piecesOfFrame(node: number, name: string): Piece[] {
    const { contentDocumentIndex, backendNodeId } = this.document.nodes;
    const inside = rare(contentDocumentIndex, node);
    if (inside !== undefined) return textPieces(this.layout, inside);
    return FRAMES.includes(name) ? [{ backendNodeId: backendNodeId![node] }] : [];
  }

  private filledIn(node: number): string {
    const { inputValue, textValue } = this.document.nodes;
    if (this.names[node] === 'TEXTAREA') return this.string(rare(textValue, node));
    return WITHOUT_TEXT.test(this.attribute(node, 'type')) ? '' : this.string(rare(inputValue, node));
  }

  /** The selected option of a closed list; options of an open list are drawn separately. */
  private shownOptions(select: number): string[] {
    if (this.holdsText(select)) return [];
    const options = [...this.selected].filter((option) => this.isWithin(option, select));
    return options.filter((option) => !this.laidOut.has(option)).map((option) => this.optionText(option));
  }

  private optionText(option: number): string {
    const label = this.attribute(option, 'label');
    if (label !== '') return label;
    const texts = this.inside(option).filter((node) => this.names[node] === '#TEXT');
    return texts.map((node) => this.string(this.document.nodes.nodeValue![node])).join('');
  }

  private holdsText(node: number): boolean {
    const { text } = this.document.layout;
    return this.inside(node).some((inner) => this.string(text[this.laidOut.get(inner) ?? -1]) !== '');
  }

  /** All descendants of a node, which follow it. */
  private inside(node: number): number[] {
    const nodes: number[] = [];
    for (let at = node + 1; at < this.parents.length && this.isWithin(at, node); at++) nodes.push(at);
    return nodes;
  }

  private isWithin(node: number, ancestor: number): boolean {
    for (let at = this.parents[node]; at >= ancestor; at = this.parents[at]) if (at === ancestor) return true;
    return false;
  }

  /** The nearest enclosing element that starts a new line, or is a form control. */
  private blockOf(node: number): number {
    let at = node;
    for (; at >= 0; at = this.parents[at]) {
      const place = this.laidOut.get(at);
      if (place === undefined || this.names[at].startsWith('#')) continue;
      if (APART.has(this.names[at]) || !INLINE.test(this.style(place, 0))) break;
    }
    return at;
  }

  private isVisible(place: number): boolean {
    const visibility = this.style(place, 1);
    return visibility === 'visible' || visibility === '';
  }

  private style(place: number, which: 0 | 1): string {
    return this.string(this.document.layout.styles[place]?.[which]);
  }

  private attribute(node: number, wanted: string): string {
    const pairs = this.document.nodes.attributes![node];
    const at = pairs.findIndex((name, index) => index % 2 === 0 && this.string(name) === wanted);
    return at < 0 ? '' : this.string(pairs[at + 1]);
  }

  private string(index: number | undefined): string {
    return index === undefined || index < 0 ? '' : this.layout.strings[index];
  }
}

/** Looks up a value that only few nodes have. */
function rare(data: { index: number[]; value: number[] } | undefined, node: number): number | undefined {
  const at = data?.index.indexOf(node) ?? -1;
  return at < 0 ? undefined : data!.value[at];
}
