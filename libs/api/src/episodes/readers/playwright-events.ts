import type { Action } from '@ui-rl/actions';
import type { ImageSize } from '@ui-rl/contracts';
import { ReasonCounts, type DemonstrationStep, type Reading } from '../demonstration';
import { readRecorded } from './answers';
import { ImportError, type JsonPlace } from './json-place';
import { actionsOf, NOT_EXPRESSIBLE, type Box, type TracedCall, type Spot } from './playwright-actions';

const OLDEST_VERSION = 6;
const NEWEST_VERSION = 10;

interface Frame {
  /** File in the archive. */
  name: string;
  place: string;
  /** Size of the page in CSS pixels, in which the trace states points. */
  size: ImageSize;
}

interface OpenCall extends TracedCall {
  place: string;
  /** The last frame before its input. */
  frame: Frame | undefined;
  hasInput: boolean;
}

/** Collects the actions of a trace, each with the last frame before it. */
export class TraceReader {
  private readonly open = new Map<string, OpenCall>();
  private readonly steps: DemonstrationStep[] = [];
  private readonly leftOut = new ReasonCounts();
  private frame: Frame | undefined;
  private title: string | undefined;
  private hasFailed = false;
  /** Box of the element that has the keyboard focus, as far as the trace says. */
  private focus: Box | undefined;

  /** @param load reads a file of the archive */
  constructor(private readonly load: (name: string) => Promise<Uint8Array>) {}

  /** The next event. @throws ImportError if it is not one of a trace */
  add(event: JsonPlace): void {
    switch (event.at('type').text()) {
      case 'context-options':
        return this.begin(event);
      case 'screencast-frame':
        this.frame = frameOf(event);
        return;
      case 'before':
        this.open.set(event.at('callId').text(), { ...callOf(event), frame: this.frame, hasInput: false });
        return;
      case 'input':
        return this.input(event);
      case 'after':
        return this.after(event);
    }
  }

  /** The steps, with the end of the task as the last one. */
  end(): {
    steps: DemonstrationStep[];
    leftOut: Map<string, number>;
    hasFailed: boolean;
    title: string | undefined;
  } {
    const { steps, leftOut, hasFailed, title, frame } = this;
    if (!hasFailed && frame !== undefined && steps.length > 0)
      this.push(frame, [{ action: 'finish', success: true }], frame.place);
    return { steps, leftOut, hasFailed, title };
  }

  private begin(event: JsonPlace): void {
    const version = event.at('version').number();
    if (version < OLDEST_VERSION || version > NEWEST_VERSION)
      throw event.at('version').wrong(`a version from ${OLDEST_VERSION} to ${NEWEST_VERSION}`);
    const title = event.at('title');
    // `notes.spec.ts:3 › Notes › adds a note`
    if (!title.isAbsent) this.title ??= title.text().split(' › ').at(-1)!.trim();
  }

  private input(event: JsonPlace): void {
    const call = this.open.get(event.at('callId').text());
    if (call === undefined) return;
    const spot = spotOf(event);
    // A drag has an input at each end.
    const isSecond = call.hasInput && call.point !== undefined;
    Object.assign(call, isSecond ? { to: spot.point } : { ...spot, frame: this.frame, hasInput: true });
  }

  private after(event: JsonPlace): void {
    const callId = event.at('callId').text();
    const call = this.open.get(callId);
    if (call === undefined) return;
    // Older versions have the point here.
    if (!event.at('point').isAbsent) Object.assign(call, spotOf(event), { hasInput: true });
    this.close(callId, event);
  }

  private close(callId: string, event: JsonPlace): void {
    const call = this.open.get(callId)!;
    this.open.delete(callId);
    const error = event.at('error');
    if (!error.isAbsent) this.hasFailed = true;
    else this.convert(call);
  }

  private convert(call: OpenCall): void {
    const { method, frame, place } = call;
    if (NOT_EXPRESSIBLE.has(method)) {
      // The page that a test opens is its start.
      if (this.steps.length > 0 || method !== 'goto') this.leftOut.add(method);
      return;
    }
    const actions = actionsOf(call, this.focus);
    if (actions === undefined) return;
    if (actions.focus !== undefined) this.focus = actions.focus;
    if ('reason' in actions) this.leftOut.add(actions.reason);
    else if (frame === undefined) this.leftOut.add('actions without a screenshot before them');
    else for (const action of actions.actions) this.push(frame, [action], place);
  }

  private push({ name, size, place: framePlace }: Frame, actions: readonly Action[], place: string): void {
    this.steps.push({
      place,
      image: () =>
        this.load(name).catch((cause: unknown) => {
          throw cause instanceof ImportError ? cause : new ImportError(framePlace, String(cause), { cause });
        }),
      read: (image): Reading => readRecorded(actions.map((action) => scaled(action, size, image))),
    });
  }
}

function frameOf(event: JsonPlace): Frame {
  const [file, sha1] = [event.at('file'), event.at('sha1')];
  return {
    name: file.isAbsent ? `resources/${sha1.text()}` : file.text(),
    place: event.place,
    size: { width: event.at('width').number(), height: event.at('height').number() },
  };
}

function callOf(event: JsonPlace): TracedCall & { place: string } {
  const params = event.at('params');
  return {
    place: event.place,
    method: event.at('method').text(),
    params: params.isAbsent ? {} : params.object(),
  };
}

function spotOf(event: JsonPlace): Spot {
  const [point, box] = [event.at('point'), event.at('box')];
  return {
    ...(point.isAbsent ? {} : { point: { x: point.at('x').number(), y: point.at('y').number() } }),
    ...(box.isAbsent
      ? {}
      : {
          box: {
            x: box.at('x').number(),
            y: box.at('y').number(),
            width: box.at('width').number(),
            height: box.at('height').number(),
          },
        }),
  };
}

/** An action in CSS pixels of the page in pixels of its frame. */
function scaled(action: Action, page: ImageSize, frame: ImageSize): object {
  const x = (value: number) => Math.floor((value * frame.width) / page.width);
  const y = (value: number) => Math.floor((value * frame.height) / page.height);
  return Object.fromEntries(
    Object.entries(action).map(([key, value]: [string, unknown]) => {
      if (key === 'x') return [key, x(value as number)];
      if (key === 'y') return [key, y(value as number)];
      if (key !== 'from' && key !== 'to') return [key, value];
      const [across, down] = value as [number, number];
      return [key, [x(across), y(down)]];
    }),
  );
}
