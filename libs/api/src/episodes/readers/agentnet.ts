import { linesOf } from '@ui-rl/episode';
import type { Demonstration, DemonstrationStep } from '../demonstration';
import { ImportError, JsonPlace } from './json-place';
import { readPython } from './python-calls';
import { MAX_STEPS, type ReaderContext } from './reader';

const MAX_LINE_BYTES = 64 * 2 ** 20;

/**
 * Trajectories of AgentNet, on which OpenCUA was trained: JSON lines with `instruction` and `traj`, screenshots as
 * files. Source: github.com/xlang-ai/OpenCUA, data/cot-generate.
 */
export async function* readAgentNet(path: string, context: ReaderContext): AsyncGenerator<Demonstration> {
  for await (const { number, content } of linesOf(path, MAX_LINE_BYTES)) {
    const place = `${path}, line ${number}`;
    yield demonstrationOf(JsonPlace.parse(Buffer.from(content).toString('utf8'), place), place, context);
  }
}

function demonstrationOf(line: JsonPlace, place: string, context: ReaderContext): Demonstration {
  const traj = line.at('traj').items();
  if (traj.length > MAX_STEPS)
    throw new ImportError(place, `has ${traj.length} steps, expected at most ${MAX_STEPS}`);
  // The annotation says of each step whether it was right.
  const right = traj.filter((step) => step.at('value').at('last_step_correct').value !== false);
  const completed = line.at('task_completed').value;
  return {
    id: line.at('task_id').text(),
    place,
    goal: line.at('instruction').text(),
    success: typeof completed === 'boolean' ? completed : null,
    steps: right.map((step) => stepOf(step, context)),
    leftOut: new Map(
      [['steps that the file marks as incorrect', traj.length - right.length] as const].filter(
        ([, count]) => count > 0,
      ),
    ),
  };
}

function stepOf(step: JsonPlace, { images }: ReaderContext): DemonstrationStep {
  const [image, code] = [step.at('image'), step.at('value').at('code')];
  const [path, python] = [image.text(), code.text()];
  return {
    place: step.place,
    image: () => images.read(path, image.place),
    read: (size) => readPython(python, size),
  };
}
