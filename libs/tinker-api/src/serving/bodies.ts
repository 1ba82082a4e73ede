import { createHash } from 'node:crypto';
import { Fields } from '@ui-rl/openai-api';
import type { Answer } from './futures';

/** The fields of a body; what only names its kind is passed over. */
export function fieldsOf(body: unknown): Fields {
  const fields = Fields.of(body);
  fields.note('type');
  return fields;
}

/** Newer clients name the optimizer of a model. @throws ApiError where that is another one than is here */
export function adamwAlone(fields: Fields): void {
  fields.only('optimizer_config', { type: 'adamw' });
}

export function bodyDigest(verb: string, body: unknown): string {
  return createHash('sha256')
    .update(`${verb} ${JSON.stringify(body)}`)
    .digest('hex');
}

/** What a request has begun, as clients ask after it. */
export function pending(requestId: string, modelId?: string): object {
  return {
    request_id: requestId,
    future_id: requestId,
    status: 'pending',
    ...(modelId === undefined ? {} : { model_id: modelId }),
  };
}

/** An answer that has one form only, and a small one. */
export function answer(body: object): Answer {
  return { json: () => body, sizeBytes: 1024 };
}
