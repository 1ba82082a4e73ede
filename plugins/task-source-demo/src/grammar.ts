import type { Goal } from './goal';
import { TEMPLATES, type Template } from './templates';

/** All goals of the grammar, in a fixed order. */
export function* allGoals(): Generator<Goal> {
  for (const template of TEMPLATES) {
    for (const words of choices(Object.entries(template.slots))) {
      const goal = goalOf(template, words);
      if (goal !== null) yield goal;
    }
  }
}

/**
 * Parses a hand-written sentence: case, "please", "the" and a final full stop are ignored; "enable" and "switch on"
 * mean "turn on". Null if the grammar does not contain it.
 */
export function parseGoal(text: string): Goal | null {
  const sentence = normalize(text);
  for (const [index, template] of TEMPLATES.entries()) {
    const words = matchOf(template, REGEXES[index], sentence);
    const goal = words === null ? null : goalOf(template, words);
    if (goal !== null) return goal;
  }
  return null;
}

function goalOf(template: Template, words: Record<string, string>): Goal | null {
  const meaning = template.build(words);
  if (meaning === null) return null;
  const sentence = template.pattern.replaceAll(/\{(\w+)\}/g, (_, slot: string) => words[slot]);
  return { ...meaning, sentence, from: meaning.from ?? 'home', shown: meaning.shown ?? meaning.place };
}

function* choices(slots: [string, readonly string[]][]): Generator<Record<string, string>> {
  if (slots.length === 0) return yield {};
  const [[slot, words], ...rest] = slots;
  for (const word of words) {
    for (const others of choices(rest)) yield { [slot]: word, ...others };
  }
}

const SYNONYMS: readonly [RegExp, string][] = [
  // Anchored to the start of a run of marks, which avoids quadratic backtracking: sentences are untrusted input.
  [/(?<![.!])[.!]+$/, ''],
  // Not the names of slots in patterns.
  [/(?<!\{)\b(please|the|app|page|screen|named|called)\b/g, ' '],
  [/\b(enable|switch on|activate)\b/g, 'turn on'],
  [/\b(disable|switch off|deactivate)\b/g, 'turn off'],
  [/\b(launch|start) (?=(settings|clock|notes|chat|people|music|store|camera)\b)/g, 'open '],
  [/\bwi[ -]?fi\b/g, 'wi-fi'],
  [/\bunlock( phone)?$/g, 'unlock phone'],
  [/\btake (a )?(photo|picture)$/g, 'take photo'],
  [/\bnotifications\b/g, 'alerts'],
];

function normalize(text: string): string {
  const lower = text.trim().toLowerCase();
  const plain = SYNONYMS.reduce((sentence, [pattern, word]) => sentence.replace(pattern, word), lower);
  return plain.replaceAll(/\s+/g, ' ').trim();
}

function matchOf(template: Template, regex: RegExp, sentence: string): Record<string, string> | null {
  const found = regex.exec(sentence);
  if (found === null) return null;
  const entries = Object.entries(template.slots).map(([slot, words]) => {
    const text = found.groups![slot];
    return [slot, words.find((word) => word.toLowerCase() === text)!];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

function regexOf({ pattern, slots }: Template): RegExp {
  const source = normalize(pattern).replaceAll(
    /\{(\w+)\}/g,
    (_, slot: string) => `(?<${slot}>${slots[slot].map((word) => escaped(word.toLowerCase())).join('|')})`,
  );
  return new RegExp(`^${source}$`);
}

const REGEXES = TEMPLATES.map(regexOf);
