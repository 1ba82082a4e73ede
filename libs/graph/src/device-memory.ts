import { sizeBytesOf } from './dtype';
import { Graph, type Value } from './graph';
import { concat, reshape } from './ops/shape';
import { Session, type Device } from './session';
import { tensor, type Tensor } from './tensor';

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
  /** The same tensors on the host; all at once if possible, because each transfer waits for the device. */
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

/** Bytes of the tensors that are joined: the size that WebGPU guarantees for a buffer that operations can write. */
const JOINED_BYTES = 128 * 2 ** 20;

type Entry = readonly [name: string, each: Tensor];

/** Copies run as separate sessions: the binding offers no other way. */
class GpuMemory implements DeviceMemory {
  readonly location = 'gpu-buffer';
  private readonly sessions = new Map<string, Promise<Session>>();

  async upload(tensors: Tensors): Promise<Record<string, Tensor>> {
    const copies: Record<string, Tensor> = {};
    try {
      for (const [name, each] of Object.entries(tensors)) {
        const session = await this.session('upload', [each]);
        copies[name] = (await session.run({ from0: each })).to;
      }
    } catch (error) {
      freeTensors(Object.values(copies));
      throw error;
    }
    return copies;
  }

  async download(tensors: Tensors): Promise<Record<string, Tensor>> {
    const copies: Record<string, Tensor> = {};
    for (const group of groupsOf(tensors)) Object.assign(copies, await this.downloadJoined(group));
    return copies;
  }

  async release(): Promise<void> {
    for (const session of this.sessions.values()) await (await session).release();
    this.sessions.clear();
  }

  /** One transfer for tensors of equal type. */
  private async downloadJoined(group: readonly Entry[]): Promise<Record<string, Tensor>> {
    const all = group.map(([, each]) => each);
    const session = await this.session('download', all);
    const feeds = Object.fromEntries(all.map((each, index) => [`from${index}`, each]));
    const numbers = (await session.run(feeds)).to.data as Float32Array | Uint16Array;
    let next = 0;
    return Object.fromEntries(
      group.map(([name, each]) => {
        const begin = next;
        next += each.size;
        return [name, tensor(dtypeOf(each), numbers.slice(begin, next), each.dims)];
      }),
    );
  }

  /** One session for each direction, type and list of numbers of axes. */
  private session(direction: 'upload' | 'download', tensors: readonly Tensor[]): Promise<Session> {
    const dtype = dtypeOf(tensors[0]);
    const ranks = tensors.map(({ dims }) => dims.length);
    const key = `${direction} ${dtype} ${ranks.join()}`;
    let session = this.sessions.get(key);
    if (session === undefined) {
      const graph = new Graph(`${direction} of ${dtype}`);
      const from = ranks.map((rank, index) => {
        const shape = Array.from({ length: rank }, (_, axis) => `N${index}_${axis}`);
        return graph.input(`from${index}`, dtype, shape);
      });
      graph.output('to', copied(direction === 'upload' ? from[0] : concat(from.map(flat), 0)));
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

function dtypeOf({ type }: Tensor): 'float32' | 'float16' {
  return type === 'float16' ? type : 'float32';
}

function flat(x: Value): Value {
  return x.rank === 0 ? reshape(x, [1]) : reshape(x, [-1]);
}

function copied(x: Value): Value {
  const { dtype, shape } = x;
  return x.graph.node('Identity', [x], {}, [{ dtype, shape }])[0];
}

/** Groups tensors to join. A float16 tensor is alone: not every device can join those. So is one above the limit. */
function groupsOf(tensors: Tensors): Entry[][] {
  const groups: Entry[][] = [];
  let open: Entry[] = [];
  let left = 0;
  for (const entry of Object.entries(tensors)) {
    const [, each] = entry;
    if (dtypeOf(each) === 'float16') {
      groups.push([entry]);
      continue;
    }
    const bytes = each.size * sizeBytesOf('float32');
    if (open.length === 0 || bytes > left) {
      open = [];
      left = JOINED_BYTES;
      groups.push(open);
    }
    open.push(entry);
    left -= bytes;
  }
  return groups;
}
