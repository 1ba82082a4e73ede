import { PluginError, type Log, type Screenshot } from '@ui-rl/plugin-kit';
import { messageOf } from './browser-pool';
import type { BrowserTab } from './browser-tab';
import type { BrowserOptions } from './options';
import { Recording, RECORDINGS } from './recording';

/** The display names of an episode. */
export interface Called {
  name: string;
  title: string;
}

/** Records a sample of the episodes. */
export class Recorder {
  private episodes = 0;

  constructor(
    private readonly options: Pick<BrowserOptions, 'record_every' | 'record_mb' | 'record_total_mb'>,
    private readonly folder: string | undefined,
    private readonly log: Log,
  ) {}

  /** @throws PluginError if recording is enabled but no folder is configured */
  static refuseWithoutFolder(
    { record_every: every }: Pick<BrowserOptions, 'record_every'>,
    folder: string | undefined,
  ): void {
    if (every === 0 || folder !== undefined) return;
    throw new PluginError(
      'option',
      `environment.kind.record_every is ${every}, but this env service has no folder for recordings: ${RECORDINGS} names it`,
    );
  }

  /**
   * Starts with the first screen; null if this episode is not recorded. A failure to record does not stop the
   * episode.
   */
  async begin(tab: BrowserTab, first: Screenshot, called: Called): Promise<Recording | null> {
    const { record_every: every, record_mb: mb, record_total_mb: total } = this.options;
    const { folder } = this;
    if (every === 0 || folder === undefined || this.episodes++ % every !== 0) return null;
    const limits = { maxBytes: mb * 2 ** 20, totalBytes: Math.max(mb, total) * 2 ** 20 };
    try {
      return await Recording.begin({ folder, ...called }, limits, tab.cdp, first, this.log);
    } catch (error) {
      this.log('warn', `an episode is not recorded in ${folder}: ${messageOf(error)}`);
      return null;
    }
  }
}
