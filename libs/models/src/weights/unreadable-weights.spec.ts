import { cpSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadModelFolder } from '../folder';

const fixture = join(__dirname, '../../../../test/golden/fixtures/qwen2-5-vl-a/model');

type Json = Record<string, unknown>;
type Stored = [dtype: string, shape: number[], bytes: Buffer];

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-quantized-'));
  cpSync(fixture, dir, { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true }));

function editConfig(change: (config: Json) => void): void {
  const file = join(dir, 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as Json;
  change(config);
  writeFileSync(file, JSON.stringify(config));
}

/** Rewrites the tensors of the model, possibly with other types. */
function editTensors(change: (tensors: Map<string, Stored>, layer: string) => void): void {
  const file = join(dir, 'model.safetensors');
  const bytes = readFileSync(file);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const { __metadata__: _, ...header } = JSON.parse(bytes.toString('utf8', 8, start)) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  const tensors = new Map<string, Stored>(
    Object.entries(header).map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [from, to],
        },
      ]) => [name, [dtype, shape, bytes.subarray(start + from, start + to)]],
    ),
  );
  const layer = [...tensors.keys()].find((name) => /layers\.0\.self_attn\.q_proj\.weight$/.test(name))!;
  change(tensors, layer.slice(0, -'.weight'.length));
  let offset = 0;
  const entries = [...tensors].map(([name, [dtype, shape, { length }]]) => {
    const entry = { dtype, shape, data_offsets: [offset, offset + length] };
    offset += length;
    return [name, entry];
  });
  const json = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(json.length));
  writeFileSync(file, Buffer.concat([size, json, ...[...tensors.values()].map(([, , data]) => data)]));
}

const zeros = (dtype: string, shape: number[], bytesEach: number): Stored => [
  dtype,
  shape,
  Buffer.alloc(shape.reduce((a, b) => a * b) * bytesEach),
];

/** The output of quantizers for one layer [48, 48]. */
const layers: [string, Json, (tensors: Map<string, Stored>, layer: string) => void][] = [
  [
    'bitsandbytes',
    { quant_method: 'bitsandbytes', load_in_4bit: true },
    (tensors, layer) => tensors.set(`${layer}.weight`, zeros('U8', [1152, 1], 1)),
  ],
  [
    'bitsandbytes',
    { quant_method: 'bitsandbytes', load_in_8bit: true },
    (tensors, layer) => tensors.set(`${layer}.weight`, zeros('I8', [48, 48], 1)),
  ],
  [
    'fp8',
    { quant_method: 'fp8', weight_block_size: [128, 128] },
    (tensors, layer) => tensors.set(`${layer}.weight`, zeros('F8_E4M3', [48, 48], 1)),
  ],
  ...['awq', 'gptq'].map((method): [string, Json, (tensors: Map<string, Stored>, layer: string) => void] => [
    method,
    { quant_method: method, bits: 4 },
    (tensors, layer) => {
      tensors.delete(`${layer}.weight`);
      tensors.set(`${layer}.qweight`, zeros('I32', [48, 6], 4));
    },
  ]),
  [
    'compressed-tensors',
    { quant_method: 'compressed-tensors', format: 'pack-quantized' },
    (tensors, layer) => {
      tensors.delete(`${layer}.weight`);
      tensors.set(`${layer}.weight_packed`, zeros('I32', [48, 6], 4));
    },
  ],
  [
    'torchao',
    { quant_method: 'torchao' },
    (tensors, layer) => tensors.set(`${layer}.weight`, zeros('U8', [48, 48], 1)),
  ],
];

test.each(layers)(
  'names %s (%j) as what the weights were quantized by',
  async (method, section, quantize) => {
    editTensors(quantize);
    editConfig((config) => (config.quantization_config = section));
    await expect(loadModelFolder(dir)).rejects.toMatchObject({
      category: 'unsupported',
      message: expect.stringMatching(
        new RegExp(
          `config\\.json says quantization_config \\(quant_method "${method}"\\).*Take the model that was quantized`,
        ),
      ) as string,
    });
  },
);

test.each<[string, (config: Json) => void]>([
  [
    'text_config.quantization_config (quant_method "awq")',
    (config) => {
      (config.text_config as Json).quantization_config = { quant_method: 'awq' };
    },
  ],
  [
    'compression_config (quant_method "compressed-tensors")',
    (config) => {
      config.compression_config = { quant_method: 'compressed-tensors' };
    },
  ],
  ['quantization (quant_method "4 bits")', (config) => (config.quantization = { bits: 4, group_size: 64 })],
])('finds %s', async (said, change) => {
  editTensors((tensors, layer) => tensors.set(`${layer}.weight`, zeros('U32', [48, 6], 4)));
  editConfig(change);
  await expect(loadModelFolder(dir)).rejects.toThrow(`config.json says ${said}: its weights are quantized`);
});

test('finds what other programs leave beside the weights', async () => {
  editTensors((tensors, layer) => tensors.delete(`${layer}.weight`));
  writeFileSync(join(dir, 'quantize_config.json'), '{"bits": 4}');
  await expect(loadModelFolder(dir)).rejects.toThrow(
    'it holds quantize_config.json: its weights are quantized',
  );
});

test('a quantization_config left over beside plain weights changes nothing', async () => {
  editConfig((config) => (config.quantization_config = { quant_method: 'bitsandbytes' }));
  await expect(loadModelFolder(dir)).resolves.toMatchObject({
    family: { shape: { modelType: 'qwen2_5_vl' } },
  });
});

test('weights of the right shape that are not floating-point numbers are refused by name', async () => {
  editTensors((tensors, layer) => tensors.set(`${layer}.weight`, zeros('U8', [48, 48], 1)));
  await expect(loadModelFolder(dir)).rejects.toThrow(/q_proj\.weight" is U8; expected F32, BF16 or F16/);
});

test('a folder with weights of another format says which', async () => {
  unlinkSync(join(dir, 'model.safetensors'));
  writeFileSync(join(dir, 'model-Q4_K_M.gguf'), '');
  await expect(loadModelFolder(dir)).rejects.toThrow(
    'holds no weights that can be read, only model-Q4_K_M.gguf; expected model.safetensors',
  );
});
