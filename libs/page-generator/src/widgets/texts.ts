import { escape, mark, type Draft, type Widget } from '../draft';

/** Approximate number of lines of a text. */
export function linesOf(draft: Draft, text: string): number {
  return Math.max(1, Math.ceil((text.length * draft.theme.size * 0.52) / draft.width));
}

export function lineHeight(draft: Draft): number {
  return draft.theme.size * draft.theme.lineHeight;
}

/** The marker of an expandable element: one character while open, another while closed. */
export function twisty(open: string, shut: string): string {
  return `<span class="tw"><i class="open">${escape(open)}</i><i class="shut">${escape(shut)}</i></span>`;
}

/** A piece of plain text: a sentence, a paragraph, a value, a caption. */
export function text(draft: Draft): Widget {
  const { texts, random } = draft;
  const content = random.pick([
    () => texts.sentence(),
    () => texts.paragraph(texts.number(1, 4)),
    () => texts.value(),
    () => texts.phrase(texts.number(2, 6)),
    () => Array.from({ length: texts.number(2, 5) }, () => texts.nonsense()).join(' '),
    () => `${texts.fieldName()}: ${texts.value()}`,
  ])();
  const id = draft.id();
  draft.parts.push({ id, kind: 'text', name: content });
  const style = random.pick(['', '', '', 'mu', 'sm', 'mu sm', 'card']);
  const shape = random.pick([
    '',
    '',
    '',
    '',
    'font-weight:700',
    'font-style:italic',
    'text-align:right;width:100%',
    'text-align:center;width:100%',
  ]);
  return {
    html: `<p ${mark(id, 'text')} class="${style}" style="${shape};overflow-wrap:anywhere">${escape(content)}</p>`,
    height: linesOf(draft, content) * lineHeight(draft),
  };
}

export function heading(draft: Draft): Widget {
  const content = draft.texts.fresh(() => draft.texts.title());
  const id = draft.id();
  draft.parts.push({ id, kind: 'heading', name: content });
  const tag = draft.random.pick(['h1', 'h2', 'h2', 'h3']);
  const color = draft.chance(0.25) ? 'color:var(--ac);' : '';
  return {
    html: `<${tag} ${mark(id, 'heading')} style="${color}overflow-wrap:anywhere">${escape(content)}</${tag}>`,
    height: linesOf(draft, content) * lineHeight(draft) * 1.3,
  };
}
