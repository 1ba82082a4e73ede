import { linesOf } from '@ui-rl/episode';
import type { ImageSize } from '@ui-rl/contracts';
import { ReasonCounts, type Demonstration, type DemonstrationStep, type Reading } from '../demonstration';
import type { EpisodeRecord } from '../episode-record';
import { readRecorded, type FunctionCall } from './answers';
import { imageAt } from './image-address';
import { ImportError, JsonPlace } from './json-place';
import { MAX_STEPS, readRecord, recordedIn, type ReaderContext } from './reader';

/** A conversation of many screenshots in base64; V8 holds no longer text than twice this. */
const MAX_LINE_BYTES = 256 * 2 ** 20;
const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'] as const;

/**
 * JSON lines of conversations in OpenAI's form: `{"messages": [{"role", "content", "tool_calls"}]}`, images as
 * `image_url` with data URLs or paths. Source: platform.openai.com/docs/api-reference/chat/create.
 */
export async function* readChat(path: string, context: ReaderContext): AsyncGenerator<Demonstration> {
  for await (const { number, content } of linesOf(path, MAX_LINE_BYTES)) {
    const place = `${path}, line ${number}`;
    const line = JsonPlace.parse(Buffer.from(content).toString('utf8'), place);
    yield demonstrationOf(line, place, number, context);
  }
}

function demonstrationOf(
  line: JsonPlace,
  place: string,
  number: number,
  context: ReaderContext,
): Demonstration {
  const conversation = new Conversation(context);
  for (const message of line.at('messages').items()) conversation.add(message);
  const { answers, goal, leftOut } = conversation;
  if (goal === undefined)
    throw new ImportError(place, 'expected a text of the user, which is the goal, found none');
  if (answers.length > MAX_STEPS)
    throw new ImportError(place, `has ${answers.length} answers, expected at most ${MAX_STEPS}`);
  const record = readRecord(line.at('ui_rl'), answers.length);
  return {
    id: `line-${number}`,
    ...{ place, goal, leftOut },
    success: record?.success ?? null,
    record,
    steps: answers.flatMap((answer, index) => stepOf(answer, context, record?.turns[index]) ?? []),
  };
}

type Load = DemonstrationStep['image'];

interface Answer {
  place: string;
  text: string;
  calls: FunctionCall[];
  /** Of the last screenshot before it. */
  image: Load | undefined;
}

function stepOf(
  { place, text, calls, image }: Answer,
  { answers }: ReaderContext,
  turn: EpisodeRecord['turns'][number] | undefined,
): DemonstrationStep | undefined {
  if (image === undefined) return undefined;
  const read = (size: ImageSize): Reading => {
    if (turn !== undefined) return readRecorded(turn.actions);
    return calls.length > 0 ? answers.calls(calls, size) : answers.text(text, size);
  };
  return { place, image, read, text, ...recordedIn(turn) };
}

/** Collects the answers of a conversation, each with the screenshot before it. */
class Conversation {
  goal: string | undefined;
  readonly answers: Answer[] = [];
  readonly leftOut = new ReasonCounts();
  private image: Load | undefined;

  constructor(private readonly context: ReaderContext) {}

  add(message: JsonPlace): void {
    const role = message.at('role').oneOf(...ROLES);
    const content = this.contentOf(message.at('content'));
    if (role === 'user') this.goal ??= content.text === '' ? undefined : content.text;
    if (role !== 'assistant') this.image = content.image ?? this.image;
    else if (message.at('weight').value === 0) this.leftOut.add('answers of weight 0');
    else if (this.image === undefined) this.leftOut.add('answers without a screenshot before them');
    else
      this.answers.push({
        place: message.place,
        text: content.text,
        calls: callsOf(message),
        image: this.image,
      });
  }

  /** The texts, and the last image. */
  private contentOf(content: JsonPlace): { text: string; image?: Load } {
    if (content.isAbsent) return { text: '' };
    if (typeof content.value === 'string') return { text: content.value };
    const texts: string[] = [];
    let image: Load | undefined;
    for (const part of content.items()) {
      const type = part.at('type').oneOf('text', 'image_url', 'refusal');
      if (type === 'image_url') image = this.imageOf(part.at('image_url'));
      else texts.push(part.at(type).text());
    }
    return { text: texts.join('\n'), image };
  }

  private imageOf(part: JsonPlace): Load {
    const address = typeof part.value === 'string' ? part.value : part.at('url').text();
    return () => imageAt(address, this.context.images, part.place);
  }
}

function callsOf(message: JsonPlace): FunctionCall[] {
  const calls = message.at('tool_calls');
  if (calls.isAbsent) return [];
  return calls.items().map((call) => {
    const called = call.at('function');
    const written = called.at('arguments');
    const fields = JsonPlace.parse(written.text(), written.place);
    return { name: called.at('name').text(), arguments: fields.object() };
  });
}
