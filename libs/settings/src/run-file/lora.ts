import { IsBoolean, IsInt, Min } from 'class-validator';
import { Above, Below, Doc, Fits } from '@ui-rl/plugin-kit';

const LAYER_GROUPS = ['all-linear', 'attention', 'mlp', 'experts', 'router'];

/** The linear layers to which an adapter is added. */
export function LayerTargets(): PropertyDecorator {
  return Fits(
    `${LAYER_GROUPS.join(', ')}, several of them joined by +, a regular expression for whole paths, or a list of layer names`,
    areTargets,
    targetsFromText,
  );
}

/** `LoraOptions` of an engine, in run-file form. */
export class LoraGroup {
  @Doc('rank of the adapter')
  @IsInt()
  @Min(1)
  rank = 32;

  @Doc('LoRA α: the adapter is scaled by alpha / rank')
  @Above(0)
  alpha = 64;

  @Doc('scale the adapter by alpha / √rank')
  @IsBoolean()
  use_rslora = false;

  @Doc('linear layers that get an adapter')
  @LayerTargets()
  targets: string | string[] = 'all-linear';

  @Doc(
    'dropout of the input of the adapter in training; the trained policy then differs slightly from the sampled one',
  )
  @Min(0)
  @Below(1)
  dropout = 0;

  @Doc('add adapters to the vision tower')
  @IsBoolean()
  vision = false;
}

function areTargets(value: unknown): boolean {
  if (Array.isArray(value)) {
    return value.length > 0 && value.every((name) => typeof name === 'string' && name !== '');
  }
  if (typeof value !== 'string') return false;
  return value.split('+').every((name) => LAYER_GROUPS.includes(name)) || isPathPattern(value);
}

/** A path has several parts, so a pattern for it contains a dot or a wildcard; anything else is a misspelt group. */
function isPathPattern(value: string): boolean {
  if (!/[.*?()[\]|^$\\{}]/.test(value)) return false;
  try {
    return new RegExp(`^(?:${value})$`) instanceof RegExp;
  } catch {
    return false;
  }
}

/** Comma-separated names, or a list as JSON; anything else may be a pattern. */
function targetsFromText(text: string): unknown {
  if (text.startsWith('[')) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return /^[\w.-]+(,[\w.-]+)+$/.test(text) ? text.split(',') : text;
}
