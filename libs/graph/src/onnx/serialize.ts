import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Dim } from '../dims';
import { onnxTypeOf } from '../dtype';
import type { Graph, Node, Value } from '../graph';
import { liveNodes } from '../live';
import { rootRelative } from './external';
import { FloatAttribute, type Attribute } from '../attributes';

/** Operator set of ONNX's own domain that the functions of `ops` use. */
export const opsetVersion = 21;
const irVersion = 10;
const microsoftDomain = 'com.microsoft';

/** `AttributeProto.AttributeType` */
const attributeType = { float: 1, int: 2, string: 3, graph: 5, ints: 7 } as const;
const externalLocation = 1;

function message(writer: BinaryWriter, field: number, write: (inner: BinaryWriter) => void): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  write(writer);
  writer.join();
}

function text(writer: BinaryWriter, field: number, value: string): void {
  writer.tag(field, WireType.LengthDelimited).string(value);
}

function integer(writer: BinaryWriter, field: number, value: number): void {
  writer.tag(field, WireType.Varint).int64(value);
}

/**
 * The graph as a serialized ONNX `ModelProto`, with the field numbers of onnx.proto3. Paths of external data are
 * relative to the root of the file system, which `Session.create` sets as ONNX Runtime's base folder; `locate` may
 * map them otherwise.
 * @param fed constants to declare as inputs, which every run must feed
 */
export function toOnnx(
  graph: Graph,
  locate: (path: string) => string = rootRelative,
  fed: ReadonlySet<Value> = new Set(),
): Uint8Array {
  const writer = new BinaryWriter();
  integer(writer, 1, irVersion);
  text(writer, 2, 'ui-rl');
  message(writer, 7, (w) => writeGraph(w, graph, new Map(), locate, fed));
  message(writer, 8, (w) => writeOpset(w, '', opsetVersion));
  message(writer, 8, (w) => writeOpset(w, microsoftDomain, 1));
  return writer.finish();
}

function writeOpset(writer: BinaryWriter, domain: string, version: number): void {
  text(writer, 1, domain);
  integer(writer, 2, version);
}

function writeGraph(
  writer: BinaryWriter,
  graph: Graph,
  around: ReadonlyMap<Value, string>,
  locate: (path: string) => string,
  fed: ReadonlySet<Value> = new Set(),
): void {
  const names = new Map([...around, ...outputNames(graph)]);
  const nameOf = (value: Value): string => names.get(value) ?? value.name;
  for (const node of liveNodes(graph)) message(writer, 1, (w) => writeNode(w, node, names, locate));
  for (const { name, value } of graph.outputs) {
    if (nameOf(value) !== name) message(writer, 1, (w) => writeIdentity(w, name, nameOf(value)));
  }
  text(writer, 2, graph.name);
  const held = graph.constants.filter((value) => !fed.has(value));
  for (const value of held) message(writer, 5, (w) => writeTensor(w, value, locate));
  for (const value of [...graph.inputs, ...fed, ...held.filter(staysAsItIs)]) {
    message(writer, 11, (w) => writeValueInfo(w, value.name, value));
  }
  for (const { name, value } of graph.outputs) message(writer, 12, (w) => writeValueInfo(w, name, value));
}

/**
 * Whether a constant is a file-backed weight in a small type that is converted: as a constant, ONNX Runtime would
 * convert it once, into private memory. As an input with a default it is read in place on each use. (Bytes are codes
 * of quantized weights, which products take unconverted.)
 */
function staysAsItIs({ constant }: Value): boolean {
  if (constant === undefined || !('external' in constant)) return false;
  return constant.dtype !== 'float32' && constant.dtype !== 'uint8';
}

/** A computed value takes its output name; only inputs, constants and additional names need an Identity. */
function outputNames(graph: Graph): Map<Value, string> {
  const names = new Map<Value, string>();
  for (const { name, value } of graph.outputs) {
    if (value.producer !== undefined && !names.has(value)) names.set(value, name);
  }
  return names;
}

function writeIdentity(writer: BinaryWriter, name: string, from: string): void {
  text(writer, 1, from);
  text(writer, 2, name);
  text(writer, 3, `/outputs/${name}`);
  text(writer, 4, 'Identity');
}

function writeNode(
  writer: BinaryWriter,
  node: Node,
  names: ReadonlyMap<Value, string>,
  locate: (path: string) => string,
): void {
  const nameOf = (value: Value): string => names.get(value) ?? value.name;
  for (const input of node.inputs) text(writer, 1, input === null ? '' : nameOf(input));
  for (const output of node.outputs) text(writer, 2, nameOf(output));
  text(writer, 3, node.name);
  text(writer, 4, node.opType);
  for (const [name, value] of Object.entries(node.attributes)) {
    message(writer, 5, (w) => writeAttribute(w, name, value));
  }
  const { body } = node;
  if (body !== undefined) message(writer, 5, (w) => writeBody(w, body, names, locate));
  if (node.domain !== '') text(writer, 7, node.domain);
}

function writeBody(
  writer: BinaryWriter,
  body: Graph,
  names: ReadonlyMap<Value, string>,
  locate: (path: string) => string,
): void {
  text(writer, 1, 'body');
  message(writer, 6, (w) => writeGraph(w, body, names, locate));
  integer(writer, 20, attributeType.graph);
}

function writeAttribute(writer: BinaryWriter, name: string, value: Attribute): void {
  text(writer, 1, name);
  if (value instanceof FloatAttribute) {
    writer.tag(2, WireType.Bit32).float(value.value);
    integer(writer, 20, attributeType.float);
  } else if (typeof value === 'number') {
    integer(writer, 3, value);
    integer(writer, 20, attributeType.int);
  } else if (typeof value === 'string') {
    writer.tag(4, WireType.LengthDelimited).bytes(Buffer.from(value, 'utf8'));
    integer(writer, 20, attributeType.string);
  } else {
    for (const item of value) integer(writer, 8, item);
    integer(writer, 20, attributeType.ints);
  }
}

function writeTensor(writer: BinaryWriter, value: Value, locate: (path: string) => string): void {
  const tensor = value.constant;
  if (tensor === undefined) return;
  for (const dim of tensor.shape) integer(writer, 1, dim);
  integer(writer, 2, onnxTypeOf(tensor.dtype));
  text(writer, 8, value.name);
  if ('data' in tensor) {
    const { buffer, byteOffset, byteLength } = tensor.data;
    writer.tag(9, WireType.LengthDelimited).bytes(new Uint8Array(buffer, byteOffset, byteLength));
    return;
  }
  const { path, offset, length } = tensor.external;
  for (const [key, entry] of Object.entries({ location: locate(path), offset, length })) {
    message(writer, 13, (w) => {
      text(w, 1, key);
      text(w, 2, String(entry));
    });
  }
  integer(writer, 14, externalLocation);
}

function writeValueInfo(writer: BinaryWriter, name: string, value: Value): void {
  text(writer, 1, name);
  message(writer, 2, (type) => {
    message(type, 1, (tensor) => {
      integer(tensor, 1, onnxTypeOf(value.dtype));
      message(tensor, 2, (shape) => {
        for (const dim of value.shape) message(shape, 1, (w) => writeDim(w, dim));
      });
    });
  });
}

function writeDim(writer: BinaryWriter, dim: Dim): void {
  if (typeof dim === 'number') integer(writer, 1, dim);
  else text(writer, 2, dim);
}
