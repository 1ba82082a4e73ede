import { ModelError } from '../errors';
import type { Family, LinearSpec } from '../families/base';
import { namesInFiles } from '../families/common/names-in-files';
import { filtersOf, isPattern, layerFilter, type LoraTargets } from './targets';

/** Configuration of an adapter: y = xWᵀ + b + scale · (xAᵀ)Bᵀ (LoRA, arXiv:2106.09685, section 4.1). */
export interface LoraConfig {
  rank: number;
  /** the scale is alpha / rank */
  alpha: number;
  /**
   * layers to adapt: `all-linear`, `attention`, `mlp`, `experts`, `router`, several of them joined by `+`; a regular
   * expression for whole paths; or a list of names, each the path of a layer or a suffix of paths
   */
  targets: LoraTargets;
  /** share of each layer's input that is dropped in training (0 to 1), see `dropOut`; not for routers and experts */
  dropout: number;
  /** whether the named groups include the vision tower; names and patterns always do */
  vision?: boolean;
  /** the scale is alpha / √rank (rsLoRA, arXiv:2312.03732) */
  rslora?: boolean;
  /**
   * other ranks and alphas for layers whose path ends with a regular expression, as PEFT's `rank_pattern` and
   * `alpha_pattern`
   */
  rankPattern?: Readonly<Record<string, number>>;
  alphaPattern?: Readonly<Record<string, number>>;
}

/** One adapted layer, or stack of layers. */
export interface LoraModule extends LinearSpec {
  /** PEFT's name of the module that holds the matrices */
  key: string;
  rank: number;
  /** factor on the product of the matrices */
  scale: number;
}

/** One trainable matrix of an adapter, under its PEFT name. */
export interface LoraParameter {
  name: string;
  shape: [number, number];
  side: 'A' | 'B';
}

/** An adapter's layers for one model. */
export interface LoraPlan {
  config: LoraConfig;
  modules: LoraModule[];
  /** PEFT's targets: short names if they match exactly these modules, else full paths */
  targetModules: string[];
  /** weights without a PEFT module: routers and stacks of experts */
  targetParameters: string[];
}

function checkConfig({ rank, alpha, dropout, rankPattern = {}, alphaPattern = {} }: LoraConfig): void {
  for (const [name, value] of Object.entries({ rank, ...rankPattern })) {
    if (Number.isInteger(value) && value >= 1) continue;
    throw new ModelError('bad-input', `LoRA ${name}: expected an integer of at least 1, found ${value}`);
  }
  for (const [name, value] of Object.entries({ alpha, ...alphaPattern })) {
    if (value > 0) continue;
    throw new ModelError('bad-input', `LoRA ${name}: expected a positive number, found ${value}`);
  }
  if (!(dropout >= 0 && dropout < 1)) {
    throw new ModelError('bad-input', `LoRA dropout: expected a share below 1, found ${dropout}`);
  }
}

/** PEFT adapts such parameters by adding to the weight, which leaves no input to drop out. */
function checkDropout({ dropout }: LoraConfig, modules: readonly LinearSpec[]): void {
  const without = modules.find(isTargetedByWeight);
  if (dropout === 0 || without === undefined) return;
  throw new ModelError(
    'unsupported',
    `LoRA dropout: found ${dropout}, but routers and experts, such as ${without.name}, have none; use 0 or other targets`,
  );
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** Whether PEFT targets a layer by its weight instead of by a linear module. */
export function isTargetedByWeight({ group }: LinearSpec): boolean {
  return group === 'router' || group === 'experts';
}

/** The weight of a layer. */
export function weightName({ name, stack }: LinearSpec): string {
  return stack === undefined ? `${name}.weight` : name;
}

/**
 * PEFT also matches modules other than linear layers, such as the vision tower's convolution: in that case only full
 * paths are safe.
 */
function targetModulesOf(modules: LinearSpec[], linears: LinearSpec[]): string[] {
  const short = new Set(modules.map(({ name }) => lastPart(name)));
  const reached = linears.filter(({ name }) => short.has(lastPart(name)));
  const exact = reached.length === modules.length && modules.every(({ part }) => part === 'text');
  return (exact ? [...short] : modules.map(({ name }) => name)).toSorted();
}

/** Paths from `.mlp` on if all layers with such a weight are adapted, else full paths. */
function targetParametersOf(modules: LinearSpec[], linears: LinearSpec[]): string[] {
  const ending = (linear: LinearSpec): string =>
    /mlp\..+$/.exec(weightName(linear))?.[0] ?? weightName(linear);
  const short = new Set(modules.map(ending));
  const reached = linears.filter((linear) => short.has(ending(linear)));
  return (reached.length === modules.length ? [...short] : modules.map(weightName)).toSorted();
}

/**
 * PEFT's names of the modules that hold the matrices. It wraps a module once for each targeted weight in it, in the
 * module's order, and the last wrapper keeps the module's name.
 */
function keysOf(modules: LinearSpec[]): Map<LinearSpec, string> {
  const holder = ({ name, stack }: LinearSpec): string =>
    stack === undefined ? name : name.slice(0, name.lastIndexOf('.'));
  return new Map(
    modules.map((module, i) => {
      const outside = modules.slice(i + 1).filter((other) => holder(other) === holder(module)).length;
      return [module, holder(module) + '.base_layer'.repeat(outside)];
    }),
  );
}

/**
 * The value of a pattern for a layer: PEFT uses the first key that matches the end of the layer's path.
 * @param names of the layer: an adapter's patterns were written for the names of its time.
 */
function byPattern(
  patterns: Readonly<Record<string, number>> = {},
  names: readonly string[],
  otherwise: number,
): number {
  const key = Object.keys(patterns).find((pattern) => names.some(layerFilter(`(.*\\.)?(${pattern})`)));
  return key === undefined ? otherwise : patterns[key];
}

function adapted(
  linear: LinearSpec,
  key: string,
  config: LoraConfig,
  { checkpointName = (name) => name }: LoraFamily,
): LoraModule {
  const names = namesInFiles(isTargetedByWeight(linear) ? weightName(linear) : linear.name, checkpointName);
  const rank = byPattern(config.rankPattern, names, config.rank);
  const alpha = byPattern(config.alphaPattern, names, config.alpha);
  return { ...linear, key, rank, scale: alpha / (config.rslora === true ? Math.sqrt(rank) : rank) };
}

function unknownTarget(target: string, family: string, linears: LinearSpec[]): ModelError {
  const known = [...new Set(linears.map(({ name }) => lastPart(name)))].join(', ');
  const what = isPattern(target) ? 'is a pattern that matches' : 'names';
  return new ModelError(
    'bad-input',
    `LoRA targets: "${target}" ${what} no linear layer of ${family}; use all-linear, attention, mlp, experts, router, several ` +
      `of them joined by +, a regular expression for whole paths, or a list of: ${known}`,
  );
}

/** The properties of a family that a plan needs. */
type LoraFamily = Pick<Family, 'name' | 'linears'> & Partial<Pick<Family, 'checkpointName'>>;

/**
 * Finds the layers that a LoRA configuration targets.
 * @throws ModelError if nothing matches a name; the message lists the possible names.
 */
export function planLora(family: LoraFamily, config: LoraConfig): LoraPlan {
  checkConfig(config);
  const linears = family.linears();
  const selected = new Set<LinearSpec>();
  for (const [target, reaches] of filtersOf(config.targets, config.vision ?? false)) {
    const found = linears.filter(reaches);
    if (found.length === 0) throw unknownTarget(target, family.name, linears);
    for (const linear of found) selected.add(linear);
  }
  const chosen = linears.filter((linear) => selected.has(linear));
  checkDropout(config, chosen);
  const keys = keysOf(chosen);
  return {
    config,
    modules: chosen.map((linear) => adapted(linear, keys.get(linear)!, config, family)),
    targetModules: targetModulesOf(
      chosen.filter((linear) => !isTargetedByWeight(linear)),
      linears.filter((linear) => !isTargetedByWeight(linear)),
    ),
    targetParameters: targetParametersOf(
      chosen.filter(isTargetedByWeight),
      linears.filter(isTargetedByWeight),
    ),
  };
}

/** PEFT's name of an adapter matrix; `key` as in {@link LoraModule}. */
export function loraName(key: string, side: 'A' | 'B'): string {
  return `base_model.model.${key}.lora_${side}.weight`;
}

/**
 * The matrices of an adapter: A [rank, in] and B [out, rank] of every layer. Those of a stack are combined: A [layers
 * · rank, in] stacked by layer, B [out, rank · layers] with the layers adjacent for every rank.
 */
export function loraParameters(plan: LoraPlan): LoraParameter[] {
  return plan.modules.flatMap(({ key, rank, stack, inFeatures, outFeatures }): LoraParameter[] => {
    const columns = rank * (stack?.count ?? 1);
    return [
      { name: loraName(key, 'A'), shape: [columns, inFeatures], side: 'A' },
      { name: loraName(key, 'B'), shape: [outFeatures, columns], side: 'B' },
    ];
  });
}
