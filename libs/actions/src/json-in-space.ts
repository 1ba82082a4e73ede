import { movePoints, type Action, type ActionName } from './action';
import { axesOf, describeCoordinates, type Axes, type CoordinateSpace } from './coordinates';
import { formattingOnly, parsingOnly, type Dialect, type ParseResult } from './dialect';
import { describeJson, IN_PIXELS, jsonDialect, readAnswer } from './json-dialect';
import { jsonGrammar } from './json-grammar';
import { ACTION_NAMES } from './schema';

/** The spaces with integer coordinates, like those of the json format. */
export const WHOLE_SPACES = ['screenshot', 'model_image', 'relative_1000', 'relative_999'] as const;

/** The json format with coordinates in a space, and perhaps with some of the actions only. */
export function jsonInSpace(
  space: (typeof WHOLE_SPACES)[number],
  only: readonly ActionName[] = ACTION_NAMES,
): Dialect {
  const actions = ACTION_NAMES.filter((name) => only.includes(name));
  const { parse, format } = space === 'screenshot' ? jsonDialect : inSpace(space);
  return {
    parse: parsingOnly(actions, parse),
    format: formattingOnly(actions, format),
    describe: (sizes) =>
      describeJson(
        space === 'screenshot' ? IN_PIXELS : describeCoordinates(space, axesOf(space, sizes)),
        actions,
      ),
    grammar(sizes) {
      const { x, y } = axesOf(space, sizes);
      return jsonGrammar({ ...sizes, screenshot: { width: x.max + 1, height: y.max + 1 } }, actions);
    },
  };
}

function inSpace(space: CoordinateSpace): Pick<Dialect, 'parse' | 'format'> {
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
