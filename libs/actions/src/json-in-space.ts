import { movePoints, type Action } from './action';
import { axesOf, describeCoordinates, type Axes } from './coordinates';
import type { Dialect, ParseResult } from './dialect';
import { describeJson, jsonDialect, readAnswer } from './json-dialect';
import { jsonGrammar } from './json-grammar';

/** The spaces with integer coordinates, like those of the json format. */
export const WHOLE_SPACES = ['screenshot', 'model_image', 'relative_1000', 'relative_999'] as const;

/** The json format with coordinates in a space. */
export function jsonInSpace(space: (typeof WHOLE_SPACES)[number]): Dialect {
  if (space === 'screenshot') return jsonDialect;
  return {
    parse(text, sizes) {
      const { result, start } = readAnswer(text);
      return result.ok ? onScreenshot(result.action, axesOf(space, sizes), text, start) : result;
    },
    format(actions, sizes) {
      const { x, y } = axesOf(space, sizes);
      const written = actions.map((action) =>
        movePoints(action, ([across, down]) => [x.write(across), y.write(down)]),
      );
      return jsonDialect.format(written, sizes);
    },
    describe: (sizes) => describeJson(describeCoordinates(space, axesOf(space, sizes))),
    grammar(sizes) {
      const { x, y } = axesOf(space, sizes);
      return jsonGrammar({ ...sizes, screenshot: { width: x.max + 1, height: y.max + 1 } });
    },
  };
}

function onScreenshot(written: Action, { x, y }: Axes, text: string, from: number): ParseResult {
  let isOutside = false;
  const action = movePoints(written, ([across, down]) => {
    isOutside ||= across > x.max || down > y.max;
    return [x.read(across), y.read(down)];
  });
  if (!isOutside) return { ok: true, actions: [action] };
  const start = text.indexOf('{', from);
  return {
    ok: false,
    reason: 'out_of_range',
    span: { start, end: text.length, text: text.slice(start) },
    correction: `A place is not on the screen: x must be from 0 to ${x.max} and y from 0 to ${y.max}. Answer with one JSON object such as {"action":"click","x":${Math.floor(x.max / 2)},"y":${Math.floor(y.max / 2)}}.`,
  };
}
