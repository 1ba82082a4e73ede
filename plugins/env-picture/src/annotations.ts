import { isRecord, PluginError, show, type Task } from '@ui-rl/plugin-kit';
import type { Target } from './target';

/** An annotation of a file, as a task. */
export interface Annotated {
  image: string;
  instruction: string;
  target: Target;
  /** Attributes by which the papers report accuracy: platform, type, application … */
  tags: string[];
  id?: string;
}

type Entry = Record<string, unknown>;

/**
 * Reads an annotation in the format of ScreenSpot (and v2), ScreenSpot-Pro or OSWorld-G, which its fields tell apart.
 *
 * - ScreenSpot: `img_filename`, `bbox` [left, top, width, height], `instruction`, `data_type`, `data_source`
 * - ScreenSpot-Pro: `bbox` [left, top, right, bottom], `img_size`, `ui_type`, `platform`, `application`, `group`, `id`
 * - OSWorld-G: `image_path`, `box_type` bbox (left, top, width, height), polygon or refusal, `box_coordinates`
 *
 * A `bbox` of ScreenSpot whose numbers are all at most 1 has fractions of the sides, [left, top, right, bottom].
 * @throws PluginError `option`
 */
export function readAnnotation(entry: unknown, where: string): Annotated {
  if (!isRecord(entry)) throw new PluginError('option', `${where} is ${show(entry)}, expected an object`);
  if ('box_type' in entry) return osworldG(entry, where);
  return 'img_size' in entry ? screenspotPro(entry, where) : screenspot(entry, where);
}

/** The task of an annotation. */
export function taskOf({ image, instruction, target, tags }: Annotated, id: string, source: string): Task {
  const path = 'absent' in target ? 'refused' : 'inside';
  return {
    id,
    description: instruction,
    source,
    tags,
    maxSteps: 1,
    environment: { kind: 'picture', options: { image, target } },
    checks: [{ path, operator: 'equals', value: true }],
  };
}

function screenspot(entry: Entry, where: string): Annotated {
  const numbers = fourOf(entry, 'bbox', where);
  const [left, top, third, fourth] = numbers;
  const isFraction = numbers.every((each) => each <= 1);
  const target: Target = isFraction
    ? { box: [left, top, third, fourth], unit: 'fraction' }
    : { box: [left, top, left + third, top + fourth] };
  const platform = optional(entry, 'data_source');
  const type = optional(entry, 'data_type');
  return { ...common(entry, 'img_filename', where), target, tags: tagsOf(platform, type) };
}

function screenspotPro(entry: Entry, where: string): Annotated {
  const [left, top, right, bottom] = fourOf(entry, 'bbox', where);
  const group = optional(entry, 'group');
  const others = ['platform', 'application'].flatMap((name) => optional(entry, name) ?? []);
  return {
    ...common(entry, 'img_filename', where),
    target: { box: [left, top, right, bottom] },
    tags: [...tagsOf(group, optional(entry, 'ui_type')), ...others],
  };
}

function osworldG(entry: Entry, where: string): Annotated {
  const kinds = Array.isArray(entry.GUI_types) ? entry.GUI_types : [];
  const tags = kinds.filter((each): each is string => typeof each === 'string' && each !== '');
  const type = text(entry, 'box_type', where);
  return { ...common(entry, 'image_path', where), target: osworldTarget(type, entry, where), tags };
}

function osworldTarget(type: string, entry: Entry, where: string): Target {
  switch (type) {
    case 'bbox': {
      const [left, top, width, height] = fourOf(entry, 'box_coordinates', where);
      return { box: [left, top, left + width, top + height] };
    }
    case 'polygon':
      return { polygon: numbersOf(entry, 'box_coordinates', where) };
    case 'refusal':
      return { absent: true };
    default:
      throw new PluginError('option', `${where}: box_type is "${type}", expected bbox, polygon or refusal`);
  }
}

function common(entry: Entry, image: string, where: string): Pick<Annotated, 'image' | 'instruction' | 'id'> {
  const id = optional(entry, 'id');
  return {
    image: text(entry, image, where),
    instruction: text(entry, 'instruction', where),
    id,
  };
}

/** Group, type, and both together, which is how the papers' tables are made up. */
function tagsOf(group: string | undefined, type: string | undefined): string[] {
  const both = group !== undefined && type !== undefined ? [`${group} ${type}`] : [];
  return [...[group, type].filter((each) => each !== undefined), ...both];
}

function text(entry: Entry, name: string, where: string): string {
  const value = entry[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new PluginError('option', `${where}: ${name} is ${show(value)}, expected a text`);
}

function optional(entry: Entry, name: string): string | undefined {
  const value = entry[name];
  return typeof value === 'string' && value !== '' ? value.slice(0, 100) : undefined;
}

function numbersOf(entry: Entry, name: string, where: string): number[] {
  const value = entry[name];
  if (Array.isArray(value) && value.every((each) => Number.isFinite(each))) return value as number[];
  throw new PluginError('option', `${where}: ${name} is ${show(value)}, expected a list of numbers`);
}

function fourOf(entry: Entry, name: string, where: string): [number, number, number, number] {
  const numbers = numbersOf(entry, name, where);
  if (numbers.length === 4) return numbers as [number, number, number, number];
  throw new PluginError('option', `${where}: ${name} has ${numbers.length} numbers, expected 4`);
}
