import type { Check } from '@ui-rl/contracts';
import type { SurveyedElement, Survey } from '@ui-rl/plugin-kit';
import { differences, type Difference } from './differences';
import { looksLikeToken, type Secrets } from './secrets';

/** The kinds that `--checks` accepts. */
export const PROPOSAL_KINDS = [
  'state',
  'url',
  'text',
  'element',
  'storage',
  'expression',
  'request',
] as const;
export type ProposalKind = (typeof PROPOSAL_KINDS)[number];

/** A check derived from the person's episode. */
export interface Proposal {
  kind: ProposalKind;
  check: Check;
  /** In words. */
  words: string;
  /** Whether it concerns an element that was acted on, or text that was typed. */
  isLikely: boolean;
}

/** The data of a person's episode. */
export interface Played {
  before: Survey;
  after: Survey;
  /** Selectors of the elements that were pointed at or typed into. */
  touched: readonly string[];
  /** Typed texts without secrets. */
  typed: readonly string[];
  secrets: Secrets;
}

const MAX_PER_KIND = 12;
const MAX_SHOWN = 80;
/** Maximum length of a text that a check searches for. */
const MAX_LINE = 120;

/**
 * Checks on the changes of an episode, the likeliest of each kind first. A replay has to show whether they hold
 * again.
 */
export function propose(played: Played): Proposal[] {
  const byKind: Record<ProposalKind, Proposal[]> = {
    state: ofState(played),
    url: ofUrl(played),
    text: ofText(played),
    element: ofElements(played),
    storage: ofStorage(played),
    expression: ofGlobals(played),
    request: ofRequests(played),
  };
  return PROPOSAL_KINDS.flatMap((kind) =>
    byKind[kind]
      .filter(({ check, words }) => !played.secrets.isIn([check, words]))
      .toSorted((a, b) => Number(b.isLikely) - Number(a.isLikely))
      .slice(0, MAX_PER_KIND),
  );
}

function ofState({ before, after, typed }: Played): Proposal[] {
  if (after.state === null) return [];
  return differences(before.state, after.state)
    .filter(({ path }) => path.length > 0 && path.every((key) => !String(key).includes('.')))
    .map(({ path, kind, value }) => {
      const operator = kind === 'element' ? 'contains' : 'equals';
      const at = path.join('.');
      return {
        kind: 'state',
        check: { path: at, operator, value },
        words: `state: ${at} ${operator} ${shown(value)}`,
        isLikely: path.length <= 3 || mentions(value, typed),
      };
    });
}

function ofUrl({ before, after }: Played): Proposal[] {
  if (withoutSecrets(before.url) === withoutSecrets(after.url)) return [];
  const value = withoutSecrets(after.url);
  const hasMore = value !== after.url;
  return [
    {
      kind: 'url',
      check: {
        kind: 'url',
        ...(hasMore ? { operator: 'contains' as const } : { operator: 'equals' as const }),
        value,
      },
      words: `the address ${hasMore ? 'contains' : 'is'} ${value}`,
      isLikely: true,
    },
  ];
}

/** Drops the query, which may contain tokens, and keeps the fragment, which selects the view. */
function withoutSecrets(url: string): string {
  const parsed = new URL(url);
  const isPlain = [...parsed.searchParams].every(([key, value]) => !looksLikeToken(key, value));
  const isView = !/[=]/.test(parsed.hash);
  return `${parsed.origin}${parsed.pathname}${isPlain ? parsed.search : ''}${isPlain && isView ? parsed.hash : ''}`;
}

/** Lines that no previous text contained. */
function ofText({ before, after, typed }: Played): Proposal[] {
  const earlier = before.lines.join('\n');
  const fresh = new Set(after.lines.filter((line) => line.length <= MAX_LINE && !earlier.includes(line)));
  return [...fresh].map((line) => ({
    kind: 'text',
    check: { kind: 'text', operator: 'contains', value: line },
    words: `the page shows “${cut(line)}”`,
    isLikely: mentions(line, typed) || fresh.size <= 3,
  }));
}

function ofElements({ before, after, touched, typed }: Played): Proposal[] {
  const earlier = new Map(before.elements.map((element) => [element.selector, element]));
  return after.elements.flatMap((element) =>
    changesOf(earlier.get(element.selector), element).map(({ check, words }) => ({
      kind: 'element',
      check: { kind: 'element', selector: element.selector, ...check } as Check,
      words: `${element.label === '' || element.label === element.text ? element.selector : `“${cut(element.label)}”`} ${words}`,
      isLikely: touched.includes(element.selector) || mentions(check.value, typed),
    })),
  );
}

interface Change {
  check: { property: string; operator?: 'equals'; attribute?: string; value: unknown };
  words: string;
}

function changesOf(before: SurveyedElement | undefined, after: SurveyedElement): Change[] {
  const changes: Change[] = [];
  if (after.checked !== undefined && after.checked !== before?.checked)
    changes.push({
      check: { property: 'checked', value: after.checked },
      words: `is ${after.checked ? '' : 'not '}checked`,
    });
  if (after.value !== undefined && after.value !== (before?.value ?? ''))
    changes.push({ check: { property: 'value', value: after.value }, words: `holds “${cut(after.value)}”` });
  if (after.visible !== (before?.visible ?? false))
    changes.push({
      check: { property: 'visible', value: after.visible },
      words: `is ${after.visible ? 'shown' : 'hidden'}`,
    });
  if (
    before?.text !== undefined &&
    after.text !== undefined &&
    after.text !== '' &&
    after.text !== before.text
  )
    changes.push({ check: { property: 'text', value: after.text }, words: `says “${cut(after.text)}”` });
  for (const [attribute, value] of Object.entries(after.attributes)) {
    if (before === undefined || before.attributes[attribute] === value) continue;
    changes.push({
      check: { property: 'attribute', attribute, value },
      words: `has ${attribute} “${cut(value)}”`,
    });
  }
  return changes;
}

function ofStorage({ before, after, typed }: Played): Proposal[] {
  return (['local', 'session'] as const).flatMap((storage) =>
    Object.entries(after.storage[storage]).flatMap(([key, value]): Proposal[] => {
      const earlier = before.storage[storage][key];
      if (earlier === value || looksLikeToken(key, value)) return [];
      return storedDifferences(earlier, value)
        .filter(({ path, value: part }) => !looksLikeToken(String(path.at(-1) ?? key), String(part)))
        .map(({ path, kind, value: part }) => {
          const at = path.join('.');
          const operator = kind === 'element' ? 'contains' : 'equals';
          return {
            kind: 'storage',
            check: {
              kind: 'storage',
              storage,
              key,
              ...(at === '' ? {} : { path: at }),
              operator,
              value: part,
            },
            words: `${storage} storage: ${[key, at].filter(Boolean).join(', ')} ${operator} ${shown(part)}`,
            isLikely: mentions(part, typed),
          };
        });
    }),
  );
}

/** Compares JSON part by part. A list at the top level has no path to name it, but its elements do. */
function storedDifferences(before: string | undefined, after: string): Difference[] {
  const [earlier, now] = [parsed(before), parsed(after)];
  if (typeof now !== 'object' || now === null) return [{ path: [], kind: 'value', value: after }];
  return differences(earlier, now).flatMap((difference) => {
    if (difference.path.length > 0 || !Array.isArray(now)) return [difference];
    const place = now.findIndex((each) => JSON.stringify(each) === JSON.stringify(difference.value));
    return differences(undefined, difference.value).map(({ path, ...rest }) => ({
      ...rest,
      path: [place, ...path],
    }));
  });
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function ofGlobals({ before, after, typed }: Played): Proposal[] {
  return Object.entries(after.globals).flatMap(([name, value]) =>
    differences(before.globals[name], value)
      .filter(({ path, value: part }) => !looksLikeToken([name, ...path].join('.'), String(part)))
      .map(({ path, kind, value: part }) => {
        const expression = path.reduce<string>(
          (text, key) =>
            /^[A-Za-z_$][\w$]*$/.test(String(key)) ? `${text}?.${key}` : `${text}?.[${JSON.stringify(key)}]`,
          name,
        );
        const operator = kind === 'element' ? 'contains' : 'equals';
        return {
          kind: 'expression',
          check: { kind: 'expression', expression, operator, value: part },
          words: `${expression.replaceAll('?.', '.')} ${operator} ${shown(part)}`,
          isLikely: mentions(part, typed),
        };
      }),
  );
}

function ofRequests({ before, after }: Played): Proposal[] {
  const fresh = after.requests.slice(before.requests.length);
  const seen = new Map(fresh.map(({ method, url }) => [`${method} ${url}`, { method, url }]));
  return [...seen.values()].map(({ method, url }) => ({
    kind: 'request',
    check: { kind: 'request', method, url: `${url}*` },
    words: `it sent ${method} ${new URL(url).pathname}`,
    isLikely: method !== 'GET',
  }));
}

function mentions(value: unknown, typed: readonly string[]): boolean {
  const text = JSON.stringify(value) ?? '';
  return typed.some((each) => each.trim() !== '' && text.includes(JSON.stringify(each.trim()).slice(1, -1)));
}

function shown(value: unknown): string {
  return cut(JSON.stringify(value) ?? 'nothing');
}

function cut(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)} …` : text;
}
