import { aborted, ask, type Terminal } from '@ui-rl/api';
import type { ShownProposal } from './view';

/**
 * Asks the user at a terminal to pick checks by number. If the terminal's input has ended (Ctrl-D), only the live
 * page can pick them; the question then ends with the signal.
 */
export async function askForChecks(
  proposals: readonly ShownProposal[],
  signal: AbortSignal,
  terminal: Terminal,
): Promise<readonly number[]> {
  const { output } = terminal;
  const print = (line: string): void => void output.write(`${line}\n`);
  const usable = proposals.filter(({ refused }) => refused === null);
  const likely = usable.filter(({ isLikely }) => isLikely).map(({ id }) => id);
  print('\nWhen is the task done? Pick here or on the page.');
  for (const { id, kind, words, isLikely } of usable)
    print(`${isLikely ? '*' : ' '}${String(id).padStart(3)}  ${kind.padEnd(10)} ${plain(words)}`);
  for (const { kind, words, refused } of proposals)
    if (refused !== null) print(`   –  ${kind.padEnd(10)} ${plain(words)}: ${plain(refused)}`);
  const question = likely.length === 0 ? 'numbers: ' : 'numbers, or Enter for those with a star: ';
  for (;;) {
    const answer = await ask(question, terminal, signal);
    if (answer === undefined) {
      print('Pick on the page, or end with Ctrl-C.');
      return aborted(signal);
    }
    const ids = answer.trim() === '' ? likely : numbersOf(answer);
    const unknown = ids.find((id) => usable.every((each) => each.id !== id));
    if (ids.length > 0 && unknown === undefined) return ids;
    const known = usable.map(({ id }) => id).join(', ');
    print(
      `expected numbers of the list (${known}), separated by spaces or commas; found ${plain(answer) || 'none'}`,
    );
  }
}

function numbersOf(answer: string): number[] {
  const words = answer.split(/[\s,]+/).filter((word) => word !== '');
  return [...new Set(words.map(Number))];
}

/** Strips control characters that could move the cursor: a page can produce any text. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').trim();
}
