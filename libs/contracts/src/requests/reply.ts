export interface RequestFailure {
  /** Machine-readable: `bad_request`, `no_session`, `capacity`, `deadline`, `crashed`, `unknown_policy`, `prompt_too_long`, `deposed`, `internal` … */
  code: string;
  message: string;
}

export type Reply<T> = { ok: true; value: T } | { ok: false; error: RequestFailure };
