export type PluginErrorCategory =
  /** There is nothing to load at a path or under a package name. */
  | 'not_found'
  /** It loads, but what it exports is no plugin. */
  | 'invalid'
  /** Two plugins claim the same name, source type or page. */
  | 'duplicate'
  /** Nothing loaded answers to a name. */
  | 'unknown'
  /** A plugin refuses one of its options. */
  | 'option';

/** Everything that can be wrong with plugins; messages name the file or the option. */
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
