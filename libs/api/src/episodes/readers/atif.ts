import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ImageSize } from '@ui-rl/contracts';
import { ReasonCounts, type Demonstration, type DemonstrationStep, type Reading } from '../demonstration';
import { readRecorded, type FunctionCall } from './answers';
import { imageAt } from './image-address';
import { ImageFiles } from './image-files';
import { ImportError, JsonPlace } from './json-place';
import { MAX_STEPS, readRecord, recordedIn, type ReaderContext } from './reader';

const VERSION = /^ATIF-v1\.\d+$/;
/** Screenshots are separate files. */
const MAX_FILE_BYTES = 256 * 2 ** 20;

/**
 * Trajectories in Harbor's Agent Trajectory Interchange Format, 1.0 to 1.8: a file, or all `.json` files of a folder.
 * Source: `harbor.models.trajectories` 0.25.
 */
export async function* readAtif(path: string, context: ReaderContext): AsyncGenerator<Demonstration> {
  for (const file of await filesIn(path)) {
    const { size } = await stat(file);
    if (size > MAX_FILE_BYTES)
      throw new ImportError(file, `has ${size} bytes, expected at most ${MAX_FILE_BYTES}`);
    const root = JsonPlace.parse(await readFile(file, 'utf8'), file);
    const version = root.at('schema_version');
    if (!VERSION.test(version.text())) throw version.wrong('"ATIF-v1.8" or another version 1');
    yield demonstrationOf(root, file, context);
  }
}

async function filesIn(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => name.endsWith('.json')).toSorted();
  if (names.length > 0) return names.map((name) => join(path, name));
  throw new ImportError(path, 'expected a folder with .json files, found none');
}

function demonstrationOf(root: JsonPlace, file: string, context: ReaderContext): Demonstration {
  const conversation = new Steps(file, context);
  const steps = root.at('steps').items();
  if (steps.length > MAX_STEPS)
    throw new ImportError(file, `has ${steps.length} steps, expected at most ${MAX_STEPS}`);
  for (const step of steps) conversation.add(step);
  const { answers, goal, leftOut } = conversation;
  if (goal === undefined)
    throw new ImportError(file, 'expected a step of the user with a text, which is the goal, found none');
  const record = readRecord(
    root.at('extra').isAbsent ? root.at('extra') : root.at('extra').at('ui_rl'),
    answers.length,
  );
  const id = [root.at('trajectory_id'), root.at('session_id')].find(({ value }) => typeof value === 'string');
  return {
    id: typeof id?.value === 'string' ? id.value : file,
    place: file,
    ...{ goal, leftOut },
    success: record?.success ?? null,
    record,
    steps: answers.map(({ calls, text, ...answer }, index): DemonstrationStep => {
      const turn = record?.turns[index];
      const read = (size: ImageSize): Reading => {
        if (turn !== undefined) return readRecorded(turn.actions);
        return calls.length > 0 ? context.answers.calls(calls, size) : context.answers.text(text, size);
      };
      return { ...answer, text, read, ...recordedIn(turn) };
    }),
  };
}

interface Answer extends Pick<DemonstrationStep, 'place' | 'image' | 'sampled'> {
  text: string;
  calls: FunctionCall[];
}

/** Collects the steps of the agent, each with the screenshot before it. */
class Steps {
  goal: string | undefined;
  readonly answers: Answer[] = [];
  readonly leftOut = new ReasonCounts();
  private image: DemonstrationStep['image'] | undefined;
  private readonly images: ImageFiles;

  constructor(file: string, context: ReaderContext) {
    this.images = context.images.or(dirname(file));
  }

  add(step: JsonPlace): void {
    const source = step.at('source').oneOf('system', 'user', 'agent');
    const { text, image } = this.contentOf(step.at('message'));
    if (source === 'user' && text !== '') this.goal ??= text;
    if (source === 'agent') this.addAnswer(step, text);
    this.image = this.observed(step.at('observation')) ?? image ?? this.image;
  }

  private addAnswer(step: JsonPlace, text: string): void {
    const { image } = this;
    if (step.at('is_copied_context').value === true)
      this.leftOut.add('steps copied from an earlier trajectory');
    else if (step.at('llm_call_count').value === 0) this.leftOut.add('steps that no model decided');
    else if (image === undefined) this.leftOut.add('steps without a screenshot before them');
    else
      this.answers.push({
        place: step.place,
        text,
        image,
        calls: callsOf(step),
        ...sampledIn(step.at('metrics')),
      });
  }

  private observed(observation: JsonPlace): DemonstrationStep['image'] | undefined {
    if (observation.isAbsent) return undefined;
    const contents = observation
      .at('results')
      .items()
      .map((result) => this.contentOf(result.at('content')));
    return contents.findLast(({ image }) => image !== undefined)?.image;
  }

  /** The texts, and the last image. */
  private contentOf(content: JsonPlace): { text: string; image?: DemonstrationStep['image'] } {
    if (content.isAbsent) return { text: '' };
    if (typeof content.value === 'string') return { text: content.value };
    const texts: string[] = [];
    let image: DemonstrationStep['image'] | undefined;
    for (const part of content.items()) {
      const type = part.at('type').oneOf('text', 'image', 'audio');
      if (type === 'text') texts.push(part.at('text').text());
      if (type !== 'image') continue;
      const path = part.at('source').at('path');
      const address = path.text();
      image = () => imageAt(address, this.images, path.place);
    }
    return { text: texts.join('\n'), image };
  }
}

function callsOf(step: JsonPlace): FunctionCall[] {
  const calls = step.at('tool_calls');
  if (calls.isAbsent) return [];
  return calls.items().map((call) => ({
    name: call.at('function_name').text(),
    arguments: call.at('arguments').object(),
  }));
}

/** The sampled tokens, if they all have log-probabilities. */
function sampledIn(metrics: JsonPlace): Pick<DemonstrationStep, 'sampled'> {
  if (metrics.isAbsent) return {};
  const [tokens, logprobs] = [metrics.at('completion_token_ids'), metrics.at('logprobs')];
  if (tokens.isAbsent || logprobs.isAbsent) return {};
  const sampled = {
    tokens: tokens.items().map((token) => token.number()),
    logprobs: logprobs.items().map((value) => value.number()),
  };
  return sampled.tokens.length === sampled.logprobs.length ? { sampled } : {};
}
