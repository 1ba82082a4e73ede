import { open } from 'node:fs/promises';
import { shapeText } from './dims';
import type { ConstantData, ExternalData } from './constant';
import { freeTensors, type DeviceMemory } from './device-memory';
import { GraphError } from './errors';
import type { ConstantSource } from './common-constants';
import { readFully } from './read-fully';
import { tensor, type Tensor } from './tensor';

/** Weights from files in device memory: read when a session first needs them, with one copy for all sessions. */
export class DeviceWeights implements ConstantSource {
  private readonly copies = new Map<string, Promise<Tensor>>();

  constructor(private readonly memory: DeviceMemory) {}

  get(constant: ConstantData): Promise<Tensor> {
    const { dtype, shape } = constant;
    if (!('external' in constant) || (dtype !== 'float32' && dtype !== 'float16')) {
      throw new GraphError(
        'build',
        `a constant of ${dtype} ${shapeText(shape)} cannot be shared by sessions`,
      );
    }
    const { path, offset, length } = constant.external;
    const key = `${path} ${offset} ${length} ${dtype} ${shapeText(shape)}`;
    let copy = this.copies.get(key);
    if (copy === undefined) {
      copy = this.upload(dtype, shape, constant.external);
      this.copies.set(key, copy);
    }
    return copy;
  }

  /** Frees the copies. Sessions that use them must not run again. */
  async release(): Promise<void> {
    const copies = await Promise.allSettled(this.copies.values());
    this.copies.clear();
    freeTensors(copies.flatMap((copy) => (copy.status === 'fulfilled' ? [copy.value] : [])));
  }

  private async upload(
    dtype: 'float32' | 'float16',
    shape: readonly number[],
    data: ExternalData,
  ): Promise<Tensor> {
    const bytes = await readPart(data);
    const numbers = dtype === 'float32' ? new Float32Array(bytes) : new Uint16Array(bytes);
    return (await this.memory.upload({ copy: tensor(dtype, numbers, shape) })).copy;
  }
}

async function readPart({ path, offset, length }: ExternalData): Promise<ArrayBuffer> {
  const bytes = new ArrayBuffer(length);
  const file = await open(path);
  try {
    const done = await readFully(file, new Uint8Array(bytes), offset);
    if (done < length) {
      throw new GraphError('session', `${path}: ends after ${done} of ${length} bytes at ${offset}`);
    }
  } finally {
    await file.close();
  }
  return bytes;
}
