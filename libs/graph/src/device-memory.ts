import { Graph } from './graph';
import { Session, type Device } from './session';
import type { Tensor } from './tensor';

/** Tensors by name. */
type Tensors = Readonly<Record<string, Tensor>>;

/**
 * Memory for tensors that many sessions of a device read. On WebGPU it is the device's own memory, so that weights,
 * caches and optimizer state do not cross to the host. Otherwise it is host memory, even on CUDA, because the Node
 * binding takes and returns CUDA tensors only on the host.
 */
export interface DeviceMemory {
  readonly location: 'cpu' | 'gpu-buffer';
  /** Copies of float32 or float16 tensors in this memory; the tensors themselves if it is host memory. */
  upload(tensors: Tensors): Promise<Record<string, Tensor>>;
  /** The same tensors on the host. */
  download(tensors: Tensors): Promise<Record<string, Tensor>>;
  /** Frees the copy sessions, but not the tensors. */
  release(): Promise<void>;
}

export function deviceMemory(device: Device): DeviceMemory {
  return device === 'webgpu' ? new GpuMemory() : hostMemory;
}

/** Frees tensors in device memory; the garbage collector frees those on the host. */
export function freeTensors(tensors: Iterable<Tensor>): void {
  for (const each of tensors) if (each.location !== 'cpu') each.dispose();
}

const hostMemory: DeviceMemory = {
  location: 'cpu',
  upload: (tensors) => Promise.resolve({ ...tensors }),
  download: (tensors) => Promise.resolve({ ...tensors }),
  release: () => Promise.resolve(),
};

type Direction = 'upload' | 'download';

/** Copies run as single-operation sessions, one for each type and number of axes: the binding offers no other way. */
class GpuMemory implements DeviceMemory {
  readonly location = 'gpu-buffer';
  private readonly sessions = new Map<string, Promise<Session>>();

  upload(tensors: Tensors): Promise<Record<string, Tensor>> {
    return this.copy('upload', tensors);
  }

  download(tensors: Tensors): Promise<Record<string, Tensor>> {
    return this.copy('download', tensors);
  }

  async release(): Promise<void> {
    for (const session of this.sessions.values()) await (await session).release();
    this.sessions.clear();
  }

  private async copy(direction: Direction, tensors: Tensors): Promise<Record<string, Tensor>> {
    const copies: Record<string, Tensor> = {};
    try {
      for (const [name, each] of Object.entries(tensors)) {
        const session = await this.session(direction, each);
        copies[name] = (await session.run({ from: each })).to;
      }
    } catch (error) {
      freeTensors(Object.values(copies));
      throw error;
    }
    return copies;
  }

  private session(direction: Direction, { dims, type }: Tensor): Promise<Session> {
    const rank = dims.length;
    const dtype = type === 'float16' ? type : 'float32';
    const key = `${direction} ${dtype} ${rank}`;
    let session = this.sessions.get(key);
    if (session === undefined) {
      const graph = new Graph(key);
      const shape = Array.from({ length: rank }, (_, axis) => `N${axis}`);
      const from = graph.input('from', dtype, shape);
      graph.output('to', graph.node('Identity', [from], {}, [{ dtype, shape }])[0]);
      session = Session.create(graph, {
        device: 'webgpu',
        // Otherwise the copy would be optimized away.
        optimization: 'disabled',
        outputLocation: direction === 'upload' ? this.location : 'cpu',
      });
      this.sessions.set(key, session);
    }
    return session;
  }
}
