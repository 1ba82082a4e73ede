import { IsIn, IsInt, Min } from 'class-validator';
import { Doc } from '@ui-rl/plugin-kit';
import { CACHE_MEMORY_MB } from './caches/cache-memory';

export const DEVICES = ['auto', 'cpu', 'webgpu', 'cuda'] as const;
export const DTYPES = ['auto', 'fp32', 'bf16', 'fp16'] as const;
export const COMPUTES = ['fp32', 'fp16'] as const;
export const QUANTIZATIONS = ['none', 'int8', 'int4'] as const;
export const CHECKPOINTING = ['auto', 'on', 'off'] as const;

/** Options of the `local` engine in a run file. */
export class LocalEngineOptions {
  @Doc('device of the model; auto uses a GPU if there is one, and the log names it')
  @IsIn(DEVICES)
  device: (typeof DEVICES)[number] = 'auto';

  @Doc(
    'type frozen weights are held in; auto leaves large models as they are stored (on webgpu, bf16 ones as fp16)',
  )
  @IsIn(DTYPES)
  dtype: (typeof DTYPES)[number] = 'auto';

  @Doc(
    'type of products with frozen weights: fp16 (webgpu only) takes less memory, at the cost of last digits',
  )
  @IsIn(COMPUTES)
  compute: (typeof COMPUTES)[number] = 'fp32';

  @Doc('frozen linear layers in 8 or 4 bits, under an adapter (QLoRA)')
  @IsIn(QUANTIZATIONS)
  quantization: (typeof QUANTIZATIONS)[number] = 'none';

  @Doc('number of CPU threads; 0 = one per core')
  @IsInt()
  @Min(0)
  threads = 0;

  @Doc(
    'computes activations again, layer by layer, instead of keeping them; auto where they would fill memory',
  )
  @IsIn(CHECKPOINTING)
  gradient_checkpointing: (typeof CHECKPOINTING)[number] = 'auto';

  @Doc(
    'memory limit in MiB of the cache of prompt prefixes (keys and values) and image features; 0 = no cache',
  )
  @IsInt()
  @Min(0)
  cache_memory_mb = CACHE_MEMORY_MB;
}
