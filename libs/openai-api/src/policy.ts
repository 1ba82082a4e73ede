import type { Action, ParseResult } from '@ui-rl/actions';
import type { ChatMessage, ImageSize } from '@ui-rl/contracts';

/** A model that requests may name. */
export interface ServedModel {
  id: string;
  /** Seconds since 1970. */
  created: number;
  /** The run it belongs to. */
  run: string;
  /** Steps trained. */
  step: number;
}

/** Messages, the images that their parts name by index, and what the model may call. */
export interface Conversation {
  messages: ChatMessage[];
  /** PNG bytes. */
  images: Uint8Array[];
  /** JSON schemas as chat templates take them: `{type: 'function', function: {name, description, parameters}}`. */
  tools: object[];
}

/** What is to be continued. */
export type PolicyPrompt =
  | { kind: 'conversation'; conversation: Conversation }
  | { kind: 'text'; text: string }
  | { kind: 'tokens'; tokenIds: number[] };

export interface PolicyRequest {
  /** As the caller names it. */
  model: string;
  prompt: PolicyPrompt;
  /** Default: as many as there is room for. */
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  /** Default: another one each time. */
  seed?: number;
  /** Answers to the same prompt that one call asks for, each by a request like this; default: 1. */
  choices?: number;
  /** Texts that end the answer, which does not hold them. */
  stop: readonly string[];
  /** Aborts when the caller is gone. */
  signal: AbortSignal;
  /** The same key for a request that comes again, since its answer was lost; `again`: it says that it does. */
  attempt: { key: string; again: boolean };
}

export interface AnswerToken {
  id: number;
  logprob: number;
  /** What it adds to the text; nothing where it is special, or a character is not complete yet. */
  text: string;
}

export interface PolicyAnswer {
  /** The model that answered, by its own name. */
  model: string;
  /** Digest of its weights. */
  digest: string;
  promptTokenIds: number[];
  tokens: AnswerToken[];
  /** Of the tokens, without what `stop` cuts off. */
  text: string;
  finish: 'stop' | 'length';
}

/** How the policy operates a screen, for callers with a computer tool. */
export interface ComputerUse {
  /** What the system message says of actions; null where the model knows by training. */
  instructions(screenshot: ImageSize): Promise<string | null>;
  /** Reads an answer. Coordinates of its actions are pixels of the screenshot. */
  read(text: string, screenshot: ImageSize): Promise<ParseResult>;
  /** The text of an answer with these actions. */
  write(actions: readonly Action[], screenshot: ImageSize): Promise<string>;
}

/** What is known of an answer before its first token. */
export type AnswerHead = Pick<PolicyAnswer, 'model' | 'digest' | 'promptTokenIds'>;

/** Is told of an answer while it is sampled. */
export interface AnswerListener {
  begins(head: AnswerHead): void;
  /** The prompt is read from now on; until then the request waited. */
  isRead?(): void;
  /** A token was sampled. It may be told of later, with the one that completes its last character. */
  isSampled?(): void;
  token(token: AnswerToken): void;
}

/** Who answers what OpenAI's clients ask, wherever the model runs. Failures are thrown as `ApiError`. */
export interface ServedPolicy {
  models(): Promise<ServedModel[]>;
  /** Whether an answer has room behind a prompt; where that cannot be told without asking for one, it is left out. */
  fits?(prompt: PolicyPrompt, signal: AbortSignal): Promise<boolean>;
  /** @param listener may be told of the answer while it is sampled, or not, where the model runs elsewhere */
  answer(request: PolicyRequest, listener?: AnswerListener): Promise<PolicyAnswer>;
  readonly computer: ComputerUse;
}
