import { LRUCache } from 'lru-cache';
import type { Conversation } from '../policy';

/** Of all stored responses: screenshots are most of it. */
const STORE_BYTES = 256 * 2 ** 20;
const CALLS = 10_000;

/** What a response can go on from. */
export interface History {
  /** Instructions left out. */
  conversation: Conversation;
  /** Ids of the calls in it, whose outputs may follow. */
  calls: readonly string[];
}

/** A response, and the conversation it ends, its answer included. */
export interface StoredResponse extends History {
  resource: object;
}

/** Responses that later requests may go on from, in memory: those that were asked for longest ago go first. */
export class ResponseStore {
  private readonly responses = new LRUCache<string, StoredResponse>({
    maxSize: STORE_BYTES,
    sizeCalculation: ({ resource, conversation: { messages, images }, calls }) =>
      images.reduce((sum, image) => sum + image.byteLength, 1_024) +
      2 * JSON.stringify([resource, messages, calls]).length,
  });
  /** What was sampled where a computer call was read from it, by the call's id; '' for further calls of the same answer. */
  private readonly calls = new LRUCache<string, string>({ max: CALLS });

  get(id: string): StoredResponse | undefined {
    return this.responses.get(id);
  }

  put(id: string, response: StoredResponse): void {
    this.responses.set(id, response);
  }

  /** Whether there was one. */
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
