import { BinaryReader } from '@bufbuild/protobuf/wire';

/** The model of a request, and its number. */
export interface RequestNumber {
  modelId: string;
  seqId: number;
}

/** The number in a body, even if the rest is invalid; undefined if it has none. */
export function requestNumberOf(body: unknown): RequestNumber | undefined {
  const { modelId, seqId } = Buffer.isBuffer(body) ? inProtobuf(body) : inJson(body);
  return typeof modelId === 'string' && Number.isSafeInteger(seqId)
    ? { modelId, seqId: seqId as number }
    : undefined;
}

interface Found {
  modelId?: unknown;
  seqId?: unknown;
}

function inJson(body: unknown): Found {
  const { model_id, seq_id } = (body ?? {}) as { model_id?: unknown; seq_id?: unknown };
  return { modelId: model_id, seqId: seq_id };
}

/** The first two fields of `ForwardBackwardRequest`: see protobuf.ts. */
function inProtobuf(bytes: Uint8Array): Found {
  const found: Found = {};
  try {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (field === 1) found.modelId = reader.string();
      else if (field === 2) found.seqId = reader.int32();
      else reader.skip(type, field);
    }
  } catch {
    // Truncated: the fields read so far are valid.
  }
  return found;
}
