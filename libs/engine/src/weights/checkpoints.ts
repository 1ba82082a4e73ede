import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  ConfigReader,
  isOfValueHead,
  loadAdapter,
  loraParameters,
  readOptionalJson,
  readSafetensors,
  saveAdapter,
  saveModelFolder,
  tensorsDigest,
  valueHeadParameters,
  WeightStore,
  writeSafetensors,
  type FloatTensor,
  type LoraPlan,
  type ModelFolder,
} from '@ui-rl/models';
import type { LossModel, WeightsInfo } from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';
import type { SavedOptimizer } from '../training/optimizer-state';
import { WeightSet } from './weight-set';

const INFO_FILE = 'engine.json';
const OPTIMIZER_FILE = 'optimizer.safetensors';
const HEAD_FILE = 'value_head.safetensors';

const MODES = ['lora', 'full', 'critic'] as const;

interface InfoFile extends WeightsInfo {
  mode: (typeof MODES)[number];
  /** The optimizer whose state is stored; undefined before its first step. */
  optimizer?: string | undefined;
  /** Number of steps of that state. */
  optimizerSteps: number;
  /** Hex sha256 of the state file; undefined in files of an older version. */
  optimizerDigest?: string | undefined;
}

/**
 * Checkpoint folders: an adapter in PEFT format or a whole Hugging Face folder, for a critic also
 * `value_head.safetensors`, `optimizer.safetensors`, `engine.json` (version and digest), and the caller's files. A
 * folder is written under a temporary name and renamed, so that a killed process leaves either the whole folder or
 * none.
 */
export class Checkpoints {
  constructor(
    private readonly folder: ModelFolder,
    private readonly role: LossModel,
    private readonly plan: LoraPlan | undefined,
  ) {}

  /** @param files additional files, name → text */
  async save(
    dir: string,
    weights: WeightSet,
    optimizer: SavedOptimizer,
    files: Readonly<Record<string, string>>,
  ): Promise<WeightsInfo> {
    await writeFolder(dir, async (temporary) => {
      await this.saveWeights(temporary, weights);
      await writeSafetensors(join(temporary, OPTIMIZER_FILE), optimizer.tensors);
      const info: InfoFile = {
        version: weights.version,
        digest: weights.digest,
        mode: this.mode,
        optimizer: optimizer.name,
        optimizerSteps: optimizer.steps,
        optimizerDigest: tensorsDigest(optimizer.tensors),
      };
      await writeFile(join(temporary, INFO_FILE), `${JSON.stringify(info, null, 2)}\n`);
      for (const [name, text] of Object.entries(files)) await writeFile(join(temporary, name), text);
    });
    return { version: weights.version, digest: weights.digest };
  }

  /** Writes only the weights, for other programs. */
  export(dir: string, weights: WeightSet): Promise<void> {
    return writeFolder(dir, (temporary) => this.saveWeights(temporary, weights));
  }

  /** Reads weights from a folder that `save` wrote, or from any PEFT adapter or model folder (as version 0). */
  async load(dir: string): Promise<WeightSet> {
    const info = await readInfo(dir);
    if (info !== undefined && info.mode !== this.mode) {
      throw new EngineError(
        'checkpoint',
        `${dir} holds ${info.mode} weights, but the engine trains ${this.mode} weights`,
      );
    }
    const tensors =
      this.plan === undefined ? await this.readModel(dir) : await this.readAdapter(dir, this.plan);
    const head = this.role === 'critic' ? await this.readHead(dir) : [];
    const weights = new WeightSet(info?.version ?? 0, new Map([...tensors, ...head]));
    if (info !== undefined && info.digest !== weights.digest) {
      throw new EngineError(
        'checkpoint',
        `${dir}: the weights' digest is ${weights.digest}, but ${INFO_FILE} says ${info.digest}: the files were changed or damaged`,
      );
    }
    return weights;
  }

  /** The optimizer state in a folder; undefined if there is none. Throws an `EngineError` if it is corrupt. */
  async loadOptimizer(dir: string): Promise<SavedOptimizer | undefined> {
    const info = await readInfo(dir);
    if (info === undefined) return undefined;
    const tensors = await readSafetensors(join(dir, OPTIMIZER_FILE));
    const digest = tensorsDigest(tensors);
    if (info.optimizerDigest !== undefined && info.optimizerDigest !== digest) {
      throw new EngineError(
        'checkpoint',
        `${dir}: the digest of the optimizer's state is ${digest}, but ${INFO_FILE} says ${info.optimizerDigest}: the files were changed or damaged`,
      );
    }
    return { name: info.optimizer, steps: info.optimizerSteps, tensors };
  }

  private get mode(): InfoFile['mode'] {
    if (this.role === 'critic') return 'critic';
    return this.plan === undefined ? 'full' : 'lora';
  }

  private async saveWeights(dir: string, weights: WeightSet): Promise<void> {
    if (this.plan === undefined) {
      await saveModelFolder(dir, { tensors: weights.tensors, filesFrom: this.folder.dir });
      return;
    }
    const tensors = [...weights.tensors];
    const adapter = new Map(tensors.filter(([name]) => !isOfValueHead(name)));
    await saveAdapter(dir, this.plan, adapter, this.folder.dir);
    const head = new Map(tensors.filter(([name]) => isOfValueHead(name)));
    if (head.size > 0) await writeSafetensors(join(dir, HEAD_FILE), head);
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
    // In the order of a fresh adapter, so that sums over all of them round identically.
    return new Map(loraParameters(plan).map(({ name }) => [name, loaded.tensors.get(name)!]));
  }
  private async readHead(dir: string): Promise<[string, FloatTensor][]> {
    const file = join(dir, HEAD_FILE);
    const found = await readSafetensors(file).catch((cause: unknown) => {
      throw new EngineError(
        'checkpoint',
        `${file} cannot be read; the checkpoint of a critic has its head there`,
        {
          cause,
        },
      );
    });
    return valueHeadParameters(this.folder.family.shape).map(({ name, shape }) => {
      const tensor = found.get(name);
      if (tensor?.shape.join() === shape.join()) return [name, tensor];
      throw new EngineError(
        'checkpoint',
        `${file}: "${name}" has shape [${tensor?.shape.join(', ') ?? 'none'}], expected [${shape.join(', ')}]`,
      );
    });
  }
}

/** @throws ModelError that names the file and the field */
async function readInfo(dir: string): Promise<InfoFile | undefined> {
  const file = join(dir, INFO_FILE);
  const json = await readOptionalJson(file);
  if (json === undefined) return undefined;
  const fields = ConfigReader.of(json, file);
  const text = (key: string) => (fields.has(key) ? fields.string(key) : undefined);
  return {
    version: fields.integer('version', undefined, 0),
    digest: fields.string('digest'),
    mode: fields.oneOf('mode', MODES),
    optimizer: text('optimizer'),
    optimizerSteps: fields.integer('optimizerSteps', undefined, 0),
    optimizerDigest: text('optimizerDigest'),
  };
}

/** Writes a folder under a temporary name, and renames it once it is complete. */
async function writeFolder(dir: string, write: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${dir}.writing`;
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true });
  await write(temporary);
  await replaceFolder(temporary, dir);
}

/** Replaces a folder with a complete one. */
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
