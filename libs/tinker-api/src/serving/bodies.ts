import { createHash } from 'node:crypto';
import { Fields } from '@ui-rl/openai-api';
import type { Answer } from './futures';

/** The fields of a body, without those that only name its type. */
export function fieldsOf(body: unknown): Fields {
  const fields = Fields.of(body);
  fields.note('type');
  return fields;
}

/** Newer clients name the optimizer of a model. @throws ApiError for anything but AdamW */
export function adamwAlone(fields: Fields): void {
  fields.only('optimizer_config', { type: 'adamw' });
}

export function bodyDigest(verb: string, body: unknown): string {
  return createHash('sha256')
    .update(`${verb} ${JSON.stringify(body)}`)
    .digest('hex');
}

/** The handle of a request that has begun. */
export function pending(requestId: string, modelId?: string): object {
  return {
    request_id: requestId,
    future_id: requestId,
    status: 'pending',
    model_id: modelId,
  };
}

/** A small answer that exists only as JSON. */
export function answer(body: object): Answer {
  return { json: () => body, sizeBytes: 1024 };
}
