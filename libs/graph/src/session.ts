import { InferenceSession, type Tensor } from './onnxruntime';
import { GraphError } from './errors';
import { extentReader } from './extents';
import { Graph, type Value } from './graph';
import { externalDataFolder, rootRelative } from './onnx/external';
import { halfProducts } from './onnx/half-products';
import { lower } from './onnx/lower';
import { toOnnx } from './onnx/serialize';
import { webgpuLowerings } from './onnx/webgpu';
import { sharedConstants, type ConstantSource } from './common-constants';

/** The device of a session. */
export type Device = 'cpu' | 'webgpu' | 'cuda';

export interface SessionOptions {
  /** default `cpu` */
  readonly device?: Device;
  /**
   * Threads per operation on the CPU; default: the number of cores. Runs with the same number of threads are
   * reproducible bit for bit; another number may change the last bits.
   */
  readonly threads?: number;
  /**
   * Uses constants in place instead of making packed private copies. Default: true if the graph has external data, so
   * that sessions over one weight file share its pages.
   */
  readonly disablePrepacking?: boolean;
  /** default `all` */
  readonly optimization?: 'disabled' | 'basic' | 'extended' | 'all';
  /**
   * Whether idle threads spin while waiting for the next operation: lower latency, at the cost of busy cores, which
   * slows down other processes (more than threefold on shared cores). Default true.
   */
  readonly spinning?: boolean;
  /**
   * Where results stay, all of them or each by name; default `cpu`. `gpu-buffer` (WebGPU only) passes tensors between
   * sessions without copies; free them with `dispose`. To read one, see `DeviceMemory`: `Tensor.getData` aborts the
   * process.
   */
  readonly outputLocation?: TensorLocation | Readonly<Record<string, TensorLocation>>;
  /**
   * For WebGPU: the source of file-backed weights in device memory, with one copy for all sessions. Without it, every
   * session has its own copy.
   */
  readonly constants?: ConstantSource;
  /**
   * For WebGPU: multiplies with float16 weights in that type, in place. Without it, they are converted to float32 on
   * each use. Default false.
   */
  readonly halfProducts?: boolean;
  /**
   * Fails the creation if an operation cannot run on the device, instead of falling back to the CPU. Default false.
   */
  readonly deviceOnly?: boolean;
  /**
   * Whether to keep the memory of results for the next run. Default true: fastest. Without it, an idle session holds
   * no memory, at the cost of fresh pages in every run.
   */
  readonly arena?: boolean;
  /**
   * Additional session configuration entries of ONNX Runtime, by full key, e.g. `session.intra_op.spin_duration_us`.
   */
  readonly config?: Readonly<Record<string, string>>;
  /** Prefix of the file for a profile (JSON trace), written when the session is released. */
  readonly profileTo?: string;
}

export type TensorLocation = 'cpu' | 'gpu-buffer';

/**
 * A graph prepared for a device. `run` blocks the event loop for its whole duration, so run long graphs in a worker.
 */
export class Session {
  private constructor(
    private readonly inner: InferenceSession,
    private readonly label: string,
    /** tensors that are fed in every run */
    private readonly constants: Readonly<Record<string, Tensor>>,
    /** throws if the feeds are inconsistent */
    private readonly check: (feeds: Readonly<Record<string, Tensor>>) => unknown,
  ) {}

  /**
   * Prepares a graph, or the bytes of an ONNX model. A graph for WebGPU is first rewritten with operations that the
   * provider supports. Throws `GraphError` with ONNX Runtime's message if the model is invalid, a file of external
   * data is missing, or the device is unavailable.
   */
  static async create(graph: Graph | Uint8Array, options: SessionOptions = {}): Promise<Session> {
    const label = graph instanceof Graph ? `graph "${graph.name}"` : 'model';
    const { bytes, constants } = await modelOf(graph, options);
    const prepack = !(options.disablePrepacking ?? (graph instanceof Graph && graph.hasExternalData));
    try {
      const inner = await InferenceSession.create(bytes, ortOptions(options, prepack));
      return new Session(inner, label, constants, extentReader(graph instanceof Graph ? graph.inputs : []));
    } catch (cause) {
      const device = options.device ?? 'cpu';
      throw new GraphError(
        'session',
        `${label} cannot be prepared on ${device}: ${messageOf(cause)}${whatItNeeds(device)}`,
        { cause },
      );
    }
  }

  get inputNames(): readonly string[] {
    return this.inner.inputNames.filter((name) => !Object.hasOwn(this.constants, name));
  }

  get outputNames(): readonly string[] {
    return this.inner.outputNames;
  }

  /**
   * Runs the graph. `fetches` names the requested results, each with a tensor to write to, or null for a new one;
   * without it all results are computed. Feeds must contain exactly the inputs of the graph, with one extent per
   * symbol.
   */
  async run(
    feeds: Readonly<Record<string, Tensor>>,
    fetches?: Readonly<Record<string, Tensor | null>>,
  ): Promise<Record<string, Tensor>> {
    const all = { ...this.constants, ...feeds };
    try {
      this.check(feeds);
      if (fetches === undefined) return await this.inner.run(all);
      return await this.inner.run(all, fetches);
    } catch (cause) {
      throw new GraphError('session', `${this.label} failed: ${messageOf(cause)}`, { cause });
    }
  }

  /** Frees the session; it must not be used again. */
  async release(): Promise<void> {
    await this.inner.release();
  }
}

/** Explains how to install a device's requirements, for the error that it is unavailable. */
function whatItNeeds(device: Device): string {
  switch (device) {
    case 'cpu':
      return '';
    case 'webgpu':
      return (
        '\nWebGPU needs a Vulkan loader and driver: apt-get install libvulkan1 mesa-vulkan-drivers, or the driver of the ' +
        "GPU's maker; without a GPU the driver that chromium brings, " +
        'VK_DRIVER_FILES=/usr/lib/chromium/vk_swiftshader_icd.json'
      );
    case 'cuda':
      return (
        '\nCUDA needs an NVIDIA driver, CUDA 12 with cuDNN 9, and the provider: ' +
        'ONNXRUNTIME_NODE_INSTALL=cuda12 node node_modules/onnxruntime-node/script/install.js'
      );
  }
}

interface Model {
  bytes: Uint8Array;
  /** inputs of the model that are the same in every run */
  constants: Record<string, Tensor>;
}

async function modelOf(graph: Graph | Uint8Array, options: SessionOptions): Promise<Model> {
  if (!(graph instanceof Graph)) return { bytes: graph, constants: {} };
  const fitting = fitted(graph, options);
  const source = options.device === 'webgpu' ? options.constants : undefined;
  const shared: Value[] = source === undefined ? [] : sharedConstants(fitting);
  const constants: Record<string, Tensor> = {};
  for (const { name, constant } of shared) constants[name] = await source!.get(constant!);
  return { bytes: toOnnx(fitting, rootRelative, new Set(shared)), constants };
}

/** The graph with operations that the device supports. */
function fitted(graph: Graph, options: SessionOptions): Graph {
  if (options.device !== 'webgpu') return graph;
  return lower(
    graph,
    options.halfProducts === true ? { ...webgpuLowerings, ...halfProducts } : webgpuLowerings,
  );
}

function messageOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  const lacksHalf = /requires f16 but the device does not support it/.test(message);
  return lacksHalf
    ? `${message}\nThis GPU or its driver has no fp16: hold weights as fp32, and compute in fp32`
    : message;
}

function ortOptions(options: SessionOptions, prepack: boolean): InferenceSession.SessionOptions {
  const device = options.device ?? 'cpu';
  return {
    executionProviders: device === 'cpu' ? ['cpu'] : [device, 'cpu'],
    graphOptimizationLevel: options.optimization ?? 'all',
    intraOpNumThreads: options.threads ?? 0,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    enableCpuMemArena: options.arena ?? true,
    enableMemPattern: options.arena ?? true,
    logSeverityLevel: 3,
    preferredOutputLocation: options.outputLocation ?? 'cpu',
    ...(options.profileTo === undefined
      ? {}
      : { enableProfiling: true, profileFilePrefix: options.profileTo }),
    extra: {
      'session.model_external_initializers_file_folder_path': externalDataFolder(),
      'session.disable_prepacking': prepack ? '0' : '1',
      'session.intra_op.allow_spinning': (options.spinning ?? true) ? '1' : '0',
      // Masked positions leave numbers below 1e-38 after a softmax, and CPUs are many times slower with denormals.
      'session.set_denormal_as_zero': '1',
      'session.disable_cpu_ep_fallback': options.deviceOnly === true ? '1' : '0',
      ...options.config,
    },
  };
}
