export type PluginErrorCategory =
  /** The path or package name does not exist. */
  | 'not_found'
  /** The module loads but does not export a plugin. */
  | 'invalid'
  /** Two plugins use the same name, source type or page. */
  | 'duplicate'
  /** No loaded component has the name. */
  | 'unknown'
  /** A plugin rejects one of its options. */
  | 'option';

/** Any fault of a plugin; messages name the file or the option. */
export class PluginError extends Error {
  override readonly name = 'PluginError';

  constructor(
    readonly category: PluginErrorCategory,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
