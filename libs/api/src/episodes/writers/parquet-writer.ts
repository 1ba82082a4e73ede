import type { Trajectory, Turn } from '@ui-rl/contracts';
import { goalOf } from '@ui-rl/episode';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { OutputFile } from './output-file';
import type { EpisodeWriter, ImageOf } from './writer';

/** Bytes of screenshots of a row group: readers load a whole one at a time. */
const GROUP_BYTES = 32 * 2 ** 20;
const GROUP_ROWS = 1000;

/** PNGs are compressed, differ from each other, and have no order. */
const AS_IT_IS = { codec: 'UNCOMPRESSED', encoding: 'PLAIN', statistics: false } as const;

type Element = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

interface Column {
  name: string;
  elements: Element[];
  /** The type of the column in Hugging Face's datasets. */
  feature: unknown;
  value: (row: Row) => unknown;
}

interface Row {
  trajectory: Trajectory;
  turn: Turn;
  png: Uint8Array | undefined;
}

const value = (dtype: string) => ({ dtype, _type: 'Value' });
const list = (dtype: string) => ({ feature: value(dtype), _type: 'List' });

function text(name: string, of: Column['value']): Column {
  const elements: Element[] = [
    { name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
  ];
  return { name, elements, feature: value('string'), value: of };
}

function number(name: string, of: Column['value'], type: 'INT32' | 'DOUBLE' | 'BOOLEAN' = 'INT32'): Column {
  const dtype = { INT32: 'int32', DOUBLE: 'float64', BOOLEAN: 'bool' }[type];
  const elements: Element[] = [{ name, type, repetition_type: 'OPTIONAL' }];
  return { name, elements, feature: value(dtype), value: of };
}

function numbers(name: string, of: Column['value'], type: 'INT32' | 'FLOAT'): Column {
  const elements: Element[] = [
    { name, converted_type: 'LIST', repetition_type: 'OPTIONAL', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', type, repetition_type: 'OPTIONAL' },
  ];
  return { name, elements, feature: list(type === 'INT32' ? 'int32' : 'float32'), value: of };
}

const COLUMNS: readonly Column[] = [
  text('run', ({ trajectory: { request } }) => request.runId),
  text('rollout_id', ({ trajectory: { request } }) => request.rolloutId),
  text('task', ({ trajectory: { request } }) => request.task.id),
  text('goal', ({ trajectory: { request, initialState = null } }) => goalOf(request.task, initialState)),
  text('status', ({ trajectory }) => trajectory.status),
  number('success', ({ trajectory }) => trajectory.success ?? null, 'BOOLEAN'),
  number('reward', ({ trajectory }) => trajectory.reward, 'DOUBLE'),
  number('turn', ({ turn }) => turn.index),
  number('turns', ({ trajectory }) => trajectory.turns.length),
  number('policy_version', ({ turn }) => turn.policyVersion),
  {
    name: 'screenshot',
    elements: [
      { name: 'screenshot', repetition_type: 'OPTIONAL', num_children: 2 },
      { name: 'bytes', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
      { name: 'path', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
    ],
    feature: { _type: 'Image' },
    value: ({ turn, png }) => (png === undefined ? null : { bytes: png, path: `${turn.screenshot}.png` }),
  },
  text('screen_text', ({ turn }) => turn.screenText ?? null),
  text('answer', ({ turn }) => turn.text),
  text('actions', ({ turn }) => JSON.stringify(turn.actions)),
  text('outcome', ({ turn }) => turn.outcome ?? null),
  text('parse_error', ({ turn }) => turn.parseError ?? null),
  numbers('prompt_token_ids', ({ turn }) => turn.promptTokenIds, 'INT32'),
  numbers('token_ids', ({ turn }) => turn.tokenIds, 'INT32'),
  numbers('logprobs', ({ turn }) => turn.logprobs, 'FLOAT'),
];

/**
 * Writes one row per turn to a Parquet file that pandas, DuckDB and Hugging Face's datasets read; the latter decodes
 * `screenshot` as an image.
 */
export class ParquetEpisodeWriter implements EpisodeWriter {
  private readonly known = new Set<string>();
  private readonly buffer = new ByteWriter();
  private readonly parquet: ParquetWriter;
  private group: Row[] = [];
  private groupBytes = 0;

  private constructor(
    private readonly file: OutputFile,
    private readonly imageOf: ImageOf,
  ) {
    this.parquet = new ParquetWriter({
      writer: this.buffer,
      schema: [
        { name: 'root', num_children: COLUMNS.length },
        ...COLUMNS.flatMap(({ elements }) => elements),
      ],
      createdBy: 'ui-rl',
      kvMetadata: [{ key: 'huggingface', value: datasetInfo() }],
    });
  }

  static async create(path: string, imageOf: ImageOf): Promise<ParquetEpisodeWriter> {
    return new ParquetEpisodeWriter(await OutputFile.create(path), imageOf);
  }

  get bytes(): number {
    return this.file.bytes;
  }

  get images(): number {
    return this.known.size;
  }

  async write(trajectory: Trajectory): Promise<void> {
    for (const turn of trajectory.turns) {
      const isShown = turn.promptImages.length > 0;
      const png = isShown ? await this.imageOf(turn.screenshot) : undefined;
      if (isShown) this.known.add(turn.screenshot);
      this.group.push({ trajectory, turn, png });
      this.groupBytes += png?.byteLength ?? 0;
      if (this.group.length >= GROUP_ROWS || this.groupBytes >= GROUP_BYTES) await this.writeGroup();
    }
  }

  async finish(): Promise<void> {
    await this.writeGroup();
    await this.parquet.finish();
    await this.flush();
    await this.file.finish();
  }

  discard(): Promise<void> {
    return this.file.discard();
  }

  private async writeGroup(): Promise<void> {
    if (this.group.length === 0) return;
    const columnData = COLUMNS.map(({ name, value: of }) => ({
      name,
      data: this.group.map(of),
      ...(name === 'screenshot' ? AS_IT_IS : {}),
    }));
    await this.parquet.write({ columnData, rowGroupSize: this.group.length });
    this.group = [];
    this.groupBytes = 0;
    await this.flush();
  }

  /** Appends the encoded bytes to the file. */
  private async flush(): Promise<void> {
    await this.file.append(this.buffer.getBytes());
    this.buffer.index = 0;
  }
}

function datasetInfo(): string {
  const features = Object.fromEntries(COLUMNS.map(({ name, feature }) => [name, feature]));
  return JSON.stringify({ info: { features } });
}
