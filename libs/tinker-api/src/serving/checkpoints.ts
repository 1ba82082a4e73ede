import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigReader, readOptionalJson } from '@ui-rl/models';
import { ApiError, invalid } from '@ui-rl/openai-api';
import type { LossModel } from '@ui-rl/plugin-kit';
import type { LoraRequest } from './lora';

export type CheckpointKind = 'weights' | 'sampler_weights';
const ROLES: readonly LossModel[] = ['policy', 'critic'];
const KINDS: readonly CheckpointKind[] = ['weights', 'sampler_weights'];

/** `tinker://<run>/weights/<name>`, or `…/sampler_weights/<name>`. */
export interface CheckpointAddress {
  run: string;
  kind: CheckpointKind;
  name: string;
}

/** Record of a model that was created here. */
export interface RunRecord {
  baseModel: string;
  /** Absent in records of servers that only supported policies. */
  role?: LossModel | undefined;
  lora: LoraRequest;
  createdAt: string;
  userMetadata?: object | undefined;
}

export interface CheckpointRecord {
  createdAt: string;
  /** When it is deleted; absent: never. */
  expiresAt?: string | undefined;
}

export interface Checkpoint extends CheckpointRecord {
  address: CheckpointAddress;
}

/** Starts with a letter or digit, so that no name leaves the folder. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
/** Also the clients' name for a model that is created from weights: `<session>:train:<number>`. */
const RUN_NAME = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;
const RUN_FILE = 'run.json';
const CHECKPOINT_FILE = 'tinker.json';

export function roleIn({ role = 'policy' }: RunRecord): LossModel {
  return role;
}

/** @throws ApiError if tokens of a critic are requested */
export function mustSample(role: LossModel, param: string, called: string): void {
  if (role === 'policy') return;
  throw invalid(param, `${called} is a critic, which gives values and no tokens: it cannot be sampled from`);
}

export function addressText({ run, kind, name }: CheckpointAddress): string {
  return `tinker://${run}/${kind}/${name}`;
}

/** @throws ApiError that describes the form of an address */
export function parseAddress(text: string, param: string): CheckpointAddress {
  const [, run, kind, name] = /^tinker:\/\/([^/]+)\/(weights|sampler_weights)\/([^/]+)$/.exec(text) ?? [];
  if (run !== undefined && RUN_NAME.test(run) && NAME.test(name))
    return { run, kind: kind as CheckpointKind, name };
  throw invalid(
    param,
    `"${text.slice(0, 200)}" is not the address of weights, such as tinker://<run>/weights/<name> or tinker://<run>/sampler_weights/<name>`,
  );
}

/** @throws ApiError if the name is not a valid folder name */
export function checkpointNamed(name: string, param: string): string {
  return named(NAME, name, param);
}

/** @throws ApiError if the name is not a valid model name */
export function runNamed(name: string, param: string): string {
  return named(RUN_NAME, name, param);
}

function named(pattern: RegExp, name: string, param: string): string {
  if (pattern.test(name)) return name;
  throw invalid(
    param,
    'expected letters, digits, ".", "_" and "-", at most 128, with a letter or digit first',
  );
}

/** The folder of checkpoints: `<run>/run.json`, `<run>/weights/<name>/`, `<run>/sampler_weights/<name>/`. */
export class CheckpointStore {
  constructor(private readonly dir: string) {}

  folderOf({ run, kind, name }: CheckpointAddress): string {
    return join(this.dir, run, kind, name);
  }

  async keepRun(run: string, record: RunRecord): Promise<void> {
    const folder = join(this.dir, run);
    await mkdir(folder, { recursive: true });
    await writeWhole(join(folder, RUN_FILE), record);
  }

  /** Marks a written folder as a checkpoint. */
  async complete(address: CheckpointAddress, ttlSeconds: number | undefined): Promise<void> {
    const now = Date.now();
    const record: CheckpointRecord = {
      createdAt: new Date(now).toISOString(),
      ...(ttlSeconds === undefined ? {} : { expiresAt: new Date(now + ttlSeconds * 1000).toISOString() }),
    };
    await writeWhole(join(this.folderOf(address), CHECKPOINT_FILE), record);
  }

  async has(address: CheckpointAddress): Promise<boolean> {
    return (await this.find(address)) !== undefined;
  }

  /** The folder of a checkpoint and its run. @throws ApiError 404 */
  async open(address: CheckpointAddress): Promise<{ dir: string; run: RunRecord }> {
    const run = await this.run(address.run);
    if (run !== undefined && (await this.has(address))) return { dir: this.folderOf(address), run };
    throw new ApiError(
      404,
      `there are no weights ${addressText(address)} here: they were never saved, were deleted or have expired`,
      'checkpoint_not_found',
    );
  }

  run(run: string): Promise<RunRecord | undefined> {
    return readRecord(join(this.dir, run, RUN_FILE), runIn);
  }

  /** Runs with saved checkpoints. */
  async runs(): Promise<string[]> {
    const found = await namesIn(this.dir, RUN_NAME);
    const known = await Promise.all(found.map((run) => this.run(run)));
    return found.filter((_, index) => known[index] !== undefined);
  }

  async list(run: string): Promise<Checkpoint[]> {
    const found: Checkpoint[] = [];
    for (const kind of KINDS) {
      for (const name of await namesIn(join(this.dir, run, kind))) {
        const address = { run, kind, name };
        const record = await this.find(address);
        if (record !== undefined) found.push({ ...record, address });
      }
    }
    return found;
  }

  async delete(address: CheckpointAddress): Promise<void> {
    const folder = this.folderOf(address);
    // Removed first, so that a partly deleted folder is not a checkpoint.
    await rm(join(folder, CHECKPOINT_FILE), { force: true });
    await rm(folder, { recursive: true, force: true });
  }

  /** Deletes expired checkpoints. */
  async sweep(now = Date.now()): Promise<void> {
    for (const run of await this.runs()) {
      for (const kind of KINDS) {
        for (const name of await namesIn(join(this.dir, run, kind))) {
          const address = { run, kind, name };
          const record = await readRecord(join(this.folderOf(address), CHECKPOINT_FILE), checkpointIn);
          if (record !== undefined && isExpired(record, now)) await this.delete(address);
        }
      }
    }
  }

  private async find(address: CheckpointAddress): Promise<CheckpointRecord | undefined> {
    const record = await readRecord(join(this.folderOf(address), CHECKPOINT_FILE), checkpointIn);
    return record === undefined || isExpired(record, Date.now()) ? undefined : record;
  }
}

function isExpired({ expiresAt }: CheckpointRecord, now: number): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now;
}

/** Valid names in a folder; empty if the folder does not exist. */
async function namesIn(dir: string, pattern = NAME): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((each) => each.isDirectory() && pattern.test(each.name))
    .map(({ name }) => name)
    .toSorted();
}

/** @throws ModelError that names the file and the field */
async function readRecord<T>(file: string, read: (fields: ConfigReader) => T): Promise<T | undefined> {
  const json = await readOptionalJson(file);
  return json === undefined ? undefined : read(ConfigReader.of(json, file));
}

function runIn(fields: ConfigReader): RunRecord {
  const lora = fields.section('lora');
  return {
    baseModel: fields.string('baseModel'),
    role: fields.has('role') ? fields.oneOf('role', ROLES) : undefined,
    lora: {
      rank: lora.integer('rank'),
      trainMlp: lora.boolean('trainMlp'),
      trainAttn: lora.boolean('trainAttn'),
    },
    createdAt: fields.string('createdAt'),
    userMetadata: fields.has('userMetadata') ? fields.object('userMetadata') : undefined,
  };
}

function checkpointIn(fields: ConfigReader): CheckpointRecord {
  return {
    createdAt: fields.string('createdAt'),
    expiresAt: fields.has('expiresAt') ? fields.string('expiresAt') : undefined,
  };
}

async function writeWhole(file: string, record: object): Promise<void> {
  await writeFile(`${file}.writing`, `${JSON.stringify(record, null, 2)}\n`);
  await rename(`${file}.writing`, file);
}
