import type { Action, ParseResult } from '@ui-rl/actions';
import type { ChatMessage, ImageSize } from '@ui-rl/contracts';

/** A model that requests may name. */
export interface ServedModel {
  id: string;
  /** Seconds since 1970. */
  created: number;
  /** The run to which it belongs. */
  run: string;
  /** Number of trained steps. */
  step: number;
}

/** Messages, the images to which their parts refer by index, and the tools of the model. */
export interface Conversation {
  messages: ChatMessage[];
  /** PNG bytes. */
  images: Uint8Array[];
  /** JSON schemas in the form of chat templates: `{type: 'function', function: {name, description, parameters}}`. */
  tools: object[];
}

/** The input to continue. */
export type PolicyPrompt =
  | { kind: 'conversation'; conversation: Conversation }
  | { kind: 'text'; text: string }
  | { kind: 'tokens'; tokenIds: number[] };

export interface PolicyRequest {
  /** The name in the request. */
  model: string;
  prompt: PolicyPrompt;
  /** Default: as many as fit. */
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  /** Default: random. */
  seed?: number;
  /** Number of answers to the same prompt in one call, each sampled by a request like this. Default: 1. */
  choices?: number;
  /** Texts that end the answer and are removed from it. */
  stop: readonly string[];
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
  /** `key` is the same for retries of a request; `again`: the request is marked as a retry. */
  attempt: { key: string; again: boolean };
}

export interface AnswerToken {
  id: number;
  logprob: number;
  /** The text that it adds; empty for special tokens, and while a character is incomplete. */
  text: string;
}

export interface PolicyAnswer {
  /** The model that answered, by its own name. */
  model: string;
  /** Digest of its weights. */
  digest: string;
  promptTokenIds: number[];
  tokens: AnswerToken[];
  /** Text of the tokens, without the part that `stop` cuts off. */
  text: string;
  finish: 'stop' | 'length';
}

/** The policy's use of a screen, for callers with a computer tool. */
export interface ComputerUse {
  /** The system message's description of actions; null if the model was trained on them. */
  instructions(screenshot: ImageSize): Promise<string | null>;
  /** Parses an answer. Coordinates of its actions are pixels of the screenshot. */
  read(text: string, screenshot: ImageSize): Promise<ParseResult>;
  /** The text of an answer with these actions. */
  write(actions: readonly Action[], screenshot: ImageSize): Promise<string>;
}

/** The data of an answer that is known before its first token. */
export type AnswerHead = Pick<PolicyAnswer, 'model' | 'digest' | 'promptTokenIds'>;

/** Receives the progress of an answer during sampling. */
export interface AnswerListener {
  begins(head: AnswerHead): void;
  /** Prefill has started; until then the request waited. */
  isRead?(): void;
  /** A token was sampled. The call may be delayed until a later token completes its last character. */
  isSampled?(): void;
  token(token: AnswerToken): void;
}

/** A policy behind OpenAI's and Anthropic's API, wherever its model runs. Failures are thrown as `ApiError`. */
export interface ServedPolicy {
  models(): Promise<ServedModel[]>;
  /** Number of tokens of a prompt. @throws ApiError if the prompt leaves no capacity for an answer */
  countTokens(request: Pick<PolicyRequest, 'model' | 'prompt' | 'signal'>): Promise<number>;
  /** Whether the prompt leaves capacity for an answer. Undefined if only a request can tell. */
  fits?(prompt: PolicyPrompt, signal: AbortSignal): Promise<boolean>;
  /** @param listener may receive the progress of the answer; not supported by every model */
  answer(request: PolicyRequest, listener?: AnswerListener): Promise<PolicyAnswer>;
  readonly computer: ComputerUse;
}
