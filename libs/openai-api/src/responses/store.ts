import { LRUCache } from 'lru-cache';
import type { Conversation } from '../policy';

/** Maximum size of all stored responses, most of which is screenshots. */
const STORE_BYTES = 256 * 2 ** 20;
const CALLS = 10_000;

/** The state from which a response can continue. */
export interface History {
  /** Without instructions. */
  conversation: Conversation;
  /** Ids of its calls, whose outputs may follow. */
  calls: readonly string[];
}

/** A response with its conversation, including the answer. */
export interface StoredResponse extends History {
  resource: object;
}

/** Responses in memory that later requests may continue; the least recently used are evicted first. */
export class ResponseStore {
  private readonly responses = new LRUCache<string, StoredResponse>({
    maxSize: STORE_BYTES,
    sizeCalculation: ({ resource, conversation: { messages, images }, calls }) =>
      images.reduce((sum, image) => sum + image.byteLength, 1_024) +
      2 * JSON.stringify([resource, messages, calls]).length,
  });
  /**
   * The sampled text from which a computer call was parsed, by the call's id; '' for further calls of the same
   * answer.
   */
  private readonly calls = new LRUCache<string, string>({ max: CALLS });

  get(id: string): StoredResponse | undefined {
    return this.responses.get(id);
  }

  put(id: string, response: StoredResponse): void {
    this.responses.set(id, response);
  }

  /** Returns whether it existed. */
  delete(id: string): boolean {
    return this.responses.delete(id);
  }

  keepCall(callId: string, text: string): void {
    this.calls.set(callId, text);
  }

  textOfCall(callId: string): string | undefined {
    return this.calls.get(callId);
  }
}
