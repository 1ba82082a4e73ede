import type { TruthElement } from '@ui-rl/page-generator';
import type { ScreenView } from '../screen/view';
import type { Step, Subgoal } from './task';

/** A click on an element. */
export function clickStep(element: TruthElement, view: ScreenView): Step {
  const [x, y] = view.pointIn(element);
  return { action: { action: 'click', x, y }, target: view.same(element).map(({ id }) => id) };
}

/** A click without a visible result, so it must be the last action. */
export function clicked(id: number): Subgoal {
  return (view) => {
    const element = view.get(id);
    return element === undefined ? 'unseen' : clickStep(element, view);
  };
}

/** Clicks an element until it reaches a state. */
export function clickedUntil(id: number, isReached: (element: TruthElement) => boolean): Subgoal {
  return (view) => {
    const element = view.get(id);
    if (element === undefined) return 'unseen';
    return isReached(element) ? 'reached' : clickStep(element, view);
  };
}

export const checked = (id: number, want: boolean): Subgoal =>
  clickedUntil(id, ({ state }) => (state.checked === true) === want);

export const selected = (id: number): Subgoal => clickedUntil(id, ({ state }) => state.selected === true);

export const expanded = (id: number): Subgoal => clickedUntil(id, ({ state }) => state.expanded === true);

/** Something inside an expandable element: expands that while the inner target is not visible. */
export function opened(id: number, inner: Subgoal): Subgoal {
  return (view) => {
    const step = inner(view);
    if (step !== 'unseen') return step;
    const isOpen = view.get(id)?.state.expanded === true;
    return isOpen ? 'unseen' : clicked(id)(view);
  };
}

/** Drags an element to the first position of its sortable list. */
export function sortedFirst(id: number, list: readonly number[]): Subgoal {
  return (view) => {
    const element = view.get(id);
    const shown = list.map((each) => view.get(each)).filter((each) => each !== undefined);
    if (element === undefined || shown.length < list.length) return 'unseen';
    const first = shown.reduce((a, b) => (b.box[1] < a.box[1] ? b : a));
    if (first === element) return 'reached';
    const [left, top, width] = first.box;
    const to = [Math.floor(left + width / 2), Math.floor(top + 1)] as const;
    return { action: { action: 'drag', from: view.pointIn(element), to }, target: [id, first.id] };
  };
}

/** An option of a drop-down list: opens the list, clicks the option; reached when the closed list shows it. */
export function chosen(select: number, option: number, name: string): Subgoal {
  return (view) => {
    const shown = view.get(option);
    if (shown !== undefined) {
      return shown.state.selected === true ? 'reached' : clickStep(shown, view);
    }
    const element = view.get(select);
    if (element === undefined) return 'unseen';
    return element.value === name ? 'reached' : clickStep(element, view);
  };
}

const SELECT_ALL: Step = { action: { action: 'key', keys: ['ctrl', 'a'] }, target: [] };
const ERASE: Step = { action: { action: 'key', keys: ['backspace'] }, target: [] };

/** A text in a field: clicks the field, selects existing text, types. An empty text clears the field. */
export function filled(id: number, text: string): Subgoal {
  return (view) => {
    const field = view.get(id);
    if (field === undefined) return 'unseen';
    if ((field.value ?? '') === text) return 'reached';
    if (field.state.focused !== true) return clickStep(field, view);
    if ((field.value ?? '') !== '' && field.state.selected !== true) return SELECT_ALL;
    return text === '' ? ERASE : { action: { action: 'type', text }, target: [] };
  };
}

export const pressed = (...keys: string[]): Subgoal => {
  return () => ({ action: { action: 'key', keys }, target: [] });
};

/** Distances in slider steps below this use the arrow keys. */
const NEAR_STEPS = 5;
/** Half the thumb of a native slider: the distance of the track's ends from its box. */
const THUMB = 8;

/** Sets a slider to a displayed value: drags the thumb, then corrects with the arrow keys. */
export function slidTo(
  id: number,
  value: number,
  scale: { min: number; max: number; step: number },
): Subgoal {
  return (view) => {
    const slider = view.get(id);
    if (slider === undefined) return 'unseen';
    const now = Number(slider.value);
    if (now === value) return 'reached';
    const isNear = Math.abs(value - now) <= NEAR_STEPS * scale.step;
    if (isNear && slider.state.focused === true) {
      return { action: { action: 'key', keys: [value > now ? 'right' : 'left'] }, target: [] };
    }
    const from = placeOnTrack(slider, now, scale);
    return { action: { action: 'drag', from, to: placeOnTrack(slider, value, scale) }, target: [id] };
  };
}

function placeOnTrack(
  { box: [left, top, width, height] }: TruthElement,
  value: number,
  { min, max }: { min: number; max: number },
): readonly [number, number] {
  const share = (value - min) / (max - min);
  const x = left + THUMB + share * (width - 2 * THUMB);
  return [Math.round(x), Math.floor(top + height / 2)];
}

/** Sets a stepper: clicks less or more until it shows the value. */
export function steppedTo(id: number, value: number, less: number, more: number): Subgoal {
  return (view) => {
    const now = Number(view.get(id)?.value ?? Number.NaN);
    if (now === value) return 'reached';
    return Number.isNaN(now) ? 'unseen' : clicked(value > now ? more : less)(view);
  };
}

/** Drags an element into another one. */
export function dropped(source: number, target: number): Subgoal {
  return (view) => {
    const [from, to] = [view.get(source), view.get(target)];
    if (from === undefined || to === undefined) return 'unseen';
    if (view.isInside(from, to)) return 'reached';
    const action = { action: 'drag', from: view.pointIn(from), to: view.pointIn(to) } as const;
    return { action, target: [source, target] };
  };
}
