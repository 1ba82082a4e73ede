import {
  systemText,
  type Action,
  type Dialect,
  type ParseResult,
  type PromptStyle,
  type ScreenSizes,
} from '@ui-rl/actions';
import type { ImageSize } from '@ui-rl/contracts';
import { IsolatedComponent } from '@ui-rl/episode';
import { ModelError, type ImageProcessor } from '@ui-rl/models';
import { ApiError, type ComputerUse } from '@ui-rl/openai-api';
import type { ComponentChoice, ComponentRegistry, Deadline, Log } from '@ui-rl/plugin-kit';

/** Time limit for one call of a plugin's action format. */
const CALL_MS = 10_000;

interface Parts {
  components: ComponentRegistry;
  dialect: ComponentChoice;
  promptStyle: PromptStyle;
  imageProcessor: Pick<ImageProcessor, 'shownSize'>;
  log: Log;
}

/**
 * Operates screens in the action format of the run, which is created on first use: a plugin's format in a separate
 * thread.
 */
export class DialectComputer implements ComputerUse {
  private made: Promise<Dialect | IsolatedComponent> | undefined;

  constructor(private readonly parts: Parts) {}

  async instructions(screenshot: ImageSize): Promise<string | null> {
    const sizes = this.sizesOf(screenshot);
    const dialect = await this.dialect();
    const described = await dialect.describe(sizes, deadline());
    return systemText(this.parts.promptStyle, () => described);
  }

  async read(text: string, screenshot: ImageSize): Promise<ParseResult> {
    const dialect = await this.dialect();
    return dialect.parse(text, this.sizesOf(screenshot), deadline());
  }

  async write(actions: readonly Action[], screenshot: ImageSize): Promise<string> {
    const dialect = await this.dialect();
    if (dialect instanceof IsolatedComponent) {
      throw new ApiError(
        400,
        'a computer call that was not sampled here cannot be written in a dialect from outside: continue with previous_response_id',
      );
    }
    try {
      return dialect.format(actions, this.sizesOf(screenshot));
    } catch (error) {
      if (error instanceof RangeError)
        throw new ApiError(400, `a computer call cannot be written: ${error.message}`);
      throw error;
    }
  }

  async close(): Promise<void> {
    const dialect = await this.made?.catch(() => undefined);
    if (dialect instanceof IsolatedComponent) await dialect.close();
  }

  private dialect(): Promise<Dialect | IsolatedComponent> {
    // The next call retries after a failure.
    this.made ??= this.make().catch((error: unknown) => {
      this.made = undefined;
      throw error;
    });
    return this.made;
  }

  private async make(): Promise<Dialect | IsolatedComponent> {
    const { components, dialect, log } = this.parts;
    const file = components.moduleOf('action-dialect', dialect.name);
    if (file === undefined) return components.create('action-dialect', dialect, {});
    return IsolatedComponent.start({ file, kind: 'action-dialect', choice: dialect }, log);
  }

  private sizesOf(screenshot: ImageSize): ScreenSizes {
    try {
      return { screenshot, modelImage: this.parts.imageProcessor.shownSize(screenshot) };
    } catch (error) {
      if (error instanceof ModelError) throw new ApiError(400, error.message);
      throw error;
    }
  }
}

function deadline(): Deadline {
  return { deadlineAt: Date.now() + CALL_MS, signal: AbortSignal.timeout(CALL_MS) };
}
