import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** The compacted part of a conversation, besides the user's messages. */
export interface Compacted {
  /** In the policy's words. */
  summary: string;
  /** Ids of the summarized calls, whose outputs may still follow. */
  calls: readonly string[];
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts and authenticates data that callers store and send back. */
export class Seal {
  private key: Buffer | undefined;

  /** @param secret requested on first use; decryption needs the same secret */
  constructor(private readonly secret: () => string) {}

  close(compacted: Compacted): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.keyOf(), nonce, { authTagLength: TAG_BYTES });
    const sealed = Buffer.concat([cipher.update(JSON.stringify(compacted), 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** Undefined if it was sealed with another secret, or modified. */
  open(text: string): Compacted | undefined {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.keyOf(), nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const opened = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
    try {
      return JSON.parse(Buffer.concat([opened, decipher.final()]).toString('utf8')) as Compacted;
    } catch {
      return undefined;
    }
  }

  private keyOf(): Buffer {
    this.key ??= Buffer.from(hkdfSync('sha256', this.secret(), '', 'compacted conversations', 32));
    return this.key;
  }
}
