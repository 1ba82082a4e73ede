import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  loadAdapter,
  readSafetensors,
  saveAdapter,
  saveModelFolder,
  WeightStore,
  writeSafetensors,
  type FloatTensor,
  type LoraPlan,
  type ModelFolder,
} from '@ui-rl/models';
import { EngineError } from './errors';
import type { Optimizer } from './optimizer';
import type { WeightsInfo } from './types';
import { WeightSet } from './weights';

const INFO_FILE = 'engine.json';
const OPTIMIZER_FILE = 'optimizer.safetensors';

interface InfoFile extends WeightsInfo {
  mode: 'lora' | 'full';
  /** Steps behind the optimizer's moments. */
  optimizerSteps: number;
}

/**
 * Checkpoint folders: an adapter in PEFT format or a whole Hugging Face folder, `optimizer.safetensors`, `engine.json`
 * (version and digest), and what the caller adds. A folder is written aside and moved into place, so a process that is
 * killed leaves either the whole folder or none.
 */
export class Checkpoints {
  constructor(
    private readonly folder: ModelFolder,
    private readonly plan: LoraPlan | undefined,
    private readonly optimizer: Optimizer,
  ) {}

  /** @param files further files, name → text */
  async save(dir: string, weights: WeightSet, files: Readonly<Record<string, string>>): Promise<WeightsInfo> {
    const aside = `${dir}.writing`;
    await rm(aside, { recursive: true, force: true });
    await mkdir(aside, { recursive: true });
    await this.saveWeights(aside, weights);
    await writeSafetensors(join(aside, OPTIMIZER_FILE), await this.optimizer.state(weights));
    const info: InfoFile = {
      version: weights.version,
      digest: weights.digest,
      mode: this.mode,
      optimizerSteps: this.optimizer.steps,
    };
    await writeFile(join(aside, INFO_FILE), `${JSON.stringify(info, null, 2)}\n`);
    for (const [name, text] of Object.entries(files)) await writeFile(join(aside, name), text);
    await replaceFolder(aside, dir);
    return { version: weights.version, digest: weights.digest };
  }

  /**
   * Reads weights from a folder that `save` wrote, or from any PEFT adapter or model folder (then of version 0). With
   * `optimizer` its state becomes the optimizer's; where the folder has none, the optimizer starts anew.
   */
  async load(dir: string, options: { optimizer: boolean }): Promise<WeightSet> {
    const info = await readInfo(dir);
    if (info !== undefined && info.mode !== this.mode) {
      throw new EngineError(
        'checkpoint',
        `${dir} holds ${info.mode} weights, but the engine trains ${this.mode} weights`,
      );
    }
    const tensors =
      this.plan === undefined ? await this.readModel(dir) : await this.readAdapter(dir, this.plan);
    const weights = new WeightSet(info?.version ?? 0, tensors);
    if (info !== undefined && info.digest !== weights.digest) {
      throw new EngineError(
        'checkpoint',
        `${dir}: the weights' digest is ${weights.digest}, but ${INFO_FILE} says ${info.digest}: the files were changed or damaged`,
      );
    }
    if (options.optimizer) await this.loadOptimizer(dir, info, weights);
    return weights;
  }

  private get mode(): 'lora' | 'full' {
    return this.plan === undefined ? 'full' : 'lora';
  }

  private async saveWeights(dir: string, weights: WeightSet): Promise<void> {
    if (this.plan === undefined) {
      await saveModelFolder(dir, { tensors: weights.tensors, filesFrom: this.folder.dir });
    } else {
      await saveAdapter(dir, this.plan, weights.tensors, this.folder.dir);
    }
  }

  private async readModel(dir: string): Promise<Map<string, FloatTensor>> {
    const store = await WeightStore.open(dir, this.folder.family.checkpointName);
    const tensors = new Map<string, FloatTensor>();
    for (const { name, shape } of this.folder.family.parameters()) {
      tensors.set(name, { shape: [...shape], data: await store.read(name, shape) });
    }
    return tensors;
  }

  private async readAdapter(dir: string, plan: LoraPlan): Promise<Map<string, FloatTensor>> {
    const loaded = await loadAdapter(dir, this.folder.family);
    const describe = ({ modules }: LoraPlan): string =>
      modules
        .map(({ name, rank, scale }) => `${name} (rank ${rank}, scale ${scale})`)
        .toSorted()
        .join(' ');
    if (describe(loaded.plan) !== describe(plan)) {
      throw new EngineError(
        'checkpoint',
        `${dir}: the adapter has ${describe(loaded.plan)}; the engine was started with ${describe(plan)}`,
      );
    }
    return loaded.tensors;
  }

  private async loadOptimizer(dir: string, info: InfoFile | undefined, weights: WeightSet): Promise<void> {
    if (info === undefined) this.optimizer.reset();
    else
      await this.optimizer.restore(
        weights,
        await readSafetensors(join(dir, OPTIMIZER_FILE)),
        info.optimizerSteps,
      );
  }
}

async function readInfo(dir: string): Promise<InfoFile | undefined> {
  const file = join(dir, INFO_FILE);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new EngineError('checkpoint', `${file} cannot be read`, { cause });
  }
  try {
    return JSON.parse(text) as InfoFile;
  } catch (cause) {
    throw new EngineError('checkpoint', `${file} is not JSON`, { cause });
  }
}

/** Puts a finished folder in the place of another, which disappears. */
async function replaceFolder(finished: string, dir: string): Promise<void> {
  await mkdir(dirname(dir), { recursive: true });
  const old = `${dir}.old`;
  await rm(old, { recursive: true, force: true });
  await rename(dir, old).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await rename(finished, dir);
  await rm(old, { recursive: true, force: true });
}
