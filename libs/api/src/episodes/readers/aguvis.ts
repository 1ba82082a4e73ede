import { readFile, stat } from 'node:fs/promises';
import type { Demonstration } from '../demonstration';
import { ImportError, JsonPlace } from './json-place';
import { readPython } from './python-calls';
import type { ReaderContext } from './reader';

const MAX_FILE_BYTES = 256 * 2 ** 20;
const ROLES = {
  human: 'user',
  user: 'user',
  gpt: 'assistant',
  assistant: 'assistant',
  system: 'system',
} as const;

/**
 * Files of Aguvis' second stage (AndroidControl, GUI Odyssey, Mind2Web and others): a JSON list of conversations with
 * an image, each of which is one step. Source: github.com/xlang-ai/aguvis, src/aguvis/dataset.py.
 */
export async function* readAguvis(path: string, context: ReaderContext): AsyncGenerator<Demonstration> {
  const { size } = await stat(path);
  if (size > MAX_FILE_BYTES)
    throw new ImportError(path, `has ${size} bytes, expected at most ${MAX_FILE_BYTES}: split it`);
  for (const [index, sample] of JsonPlace.parse(await readFile(path, 'utf8'), path)
    .items()
    .entries())
    yield demonstrationOf(sample, index, context);
}

function demonstrationOf(sample: JsonPlace, index: number, { images }: ReaderContext): Demonstration {
  const shown = sample.at('image');
  const image = Array.isArray(shown.value) ? shown.items().at(-1)! : shown;
  if (image === undefined) throw shown.wrong('the path of an image');
  const path = image.text();
  let goal: string | undefined;
  let code: string | undefined;
  for (const message of sample.at('conversations').items()) {
    const { role, text } = messageOf(message);
    if (role === 'user') goal = goalIn(text);
    // Thoughts go to everybody, calls to the operating system.
    if (role === 'assistant' && message.at('recipient').value !== 'all') code = text;
  }
  if (goal === undefined || goal === '')
    throw new ImportError(sample.place, 'expected a text of the user, which is the goal, found none');
  const { place } = sample;
  const read = (size: { width: number; height: number }) =>
    code === undefined ? ({ ok: false, reason: 'no_action' } as const) : readPython(code, size);
  const id = sample.at('id').value;
  return {
    id: typeof id === 'string' ? id : `sample-${index}`,
    ...{ place, goal, success: null },
    steps: [{ place, image: () => images.read(path, image.place), read }],
  };
}

function messageOf(message: JsonPlace): { role: 'user' | 'assistant' | 'system'; text: string } {
  const [from, value] = message.at('from').isAbsent ? ['role', 'content'] : ['from', 'value'];
  const role = message.at(from).oneOf(...(Object.keys(ROLES) as (keyof typeof ROLES)[]));
  return { role: ROLES[role], text: message.at(value).text().replaceAll('<image>', '').trim() };
}

/** The instruction in the form of Aguvis' training prompts, else the whole text. */
function goalIn(text: string): string {
  const [, instruction] = /Instruction:\s*(.*?)\s*(?:Previous actions:|$)/s.exec(text) ?? [];
  return instruction ?? text;
}
