import { ModelError } from '../errors';
import type { Family, LinearSpec } from '../families/base';

/** Which linear layers an adapter is added to. */
export type LoraTargets = 'attention' | 'mlp' | 'attention+mlp' | 'all-linear' | string[];

/** How an adapter is made: y = xWᵀ + b + (alpha / rank) · (xAᵀ)Bᵀ (LoRA, arXiv:2106.09685, section 4.1). */
export interface LoraConfig {
  rank: number;
  alpha: number;
  /** a list names layers as PEFT does: a layer matches when its path is the name or ends with `.name` */
  targets: LoraTargets;
  /** only 0: with dropout the trained distribution would not be the sampled one */
  dropout: number;
  /** whether the named groups include the vision tower; a list of names reaches it without this */
  vision?: boolean;
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
  scale: number;
  modules: LinearSpec[];
  /** what PEFT is to match: short names where that reaches these modules and no others, else full paths */
  targetModules: string[];
}

function inGroup(linear: LinearSpec, { targets, vision = false }: LoraConfig): boolean {
  if (Array.isArray(targets)) {
    return targets.some((target) => linear.name === target || linear.name.endsWith(`.${target}`));
  }
  if (linear.part === 'vision' && !vision) return false;
  return targets === 'all-linear' || targets.split('+').includes(linear.group);
}

function checkConfig(config: LoraConfig): void {
  if (!Number.isInteger(config.rank) || config.rank < 1) {
    throw new ModelError('bad-input', `LoRA rank: expected an integer of at least 1, found ${config.rank}`);
  }
  if (!(config.alpha > 0)) {
    throw new ModelError('bad-input', `LoRA alpha: expected a positive number, found ${config.alpha}`);
  }
  if (config.dropout !== 0) {
    throw new ModelError(
      'unsupported',
      `LoRA dropout: found ${config.dropout}; only 0 is supported, since dropout would train another distribution than the sampled one`,
    );
  }
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** PEFT also matches modules that are no linear layers, such as the vision tower's convolution: there only full paths are safe. */
function targetModulesOf(modules: LinearSpec[], linears: LinearSpec[]): string[] {
  const short = new Set(modules.map(({ name }) => lastPart(name)));
  const reached = linears.filter(({ name }) => short.has(lastPart(name)));
  const exact = reached.length === modules.length && modules.every(({ part }) => part === 'text');
  return (exact ? [...short] : modules.map(({ name }) => name)).toSorted();
}

/**
 * Finds the layers a LoRA configuration names.
 * @throws ModelError when nothing matches a name; the message lists what can be named.
 */
export function planLora(family: Family, config: LoraConfig): LoraPlan {
  checkConfig(config);
  const linears = family.linears();
  const modules = linears.filter((linear) => inGroup(linear, config));
  const wanted = Array.isArray(config.targets) ? config.targets : [config.targets];
  for (const target of wanted) {
    if (
      !linears.some((linear) =>
        inGroup(linear, { ...config, targets: Array.isArray(config.targets) ? [target] : (target as 'mlp') }),
      )
    ) {
      const known = [...new Set(linears.map(({ name }) => lastPart(name)))].join(', ');
      throw new ModelError(
        'bad-input',
        `LoRA targets: "${target}" names no linear layer of ${family.name}; ` +
          `use attention, mlp, attention+mlp, all-linear, or a list of: ${known}`,
      );
    }
  }
  return {
    config,
    scale: config.alpha / config.rank,
    modules,
    targetModules: targetModulesOf(modules, linears),
  };
}

/** PEFT's name of an adapter matrix. */
export function loraName(module: string, side: 'A' | 'B'): string {
  return `base_model.model.${module}.lora_${side}.weight`;
}

/** The matrices of an adapter: A [rank, in] and B [out, rank] of every layer. */
export function loraParameters(plan: LoraPlan): LoraParameter[] {
  const { rank } = plan.config;
  return plan.modules.flatMap(({ name, inFeatures, outFeatures }): LoraParameter[] => [
    { name: loraName(name, 'A'), shape: [rank, inFeatures], side: 'A' },
    { name: loraName(name, 'B'), shape: [outFeatures, rank], side: 'B' },
  ]);
}
