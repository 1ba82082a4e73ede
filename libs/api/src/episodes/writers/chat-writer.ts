import type { Trajectory, Turn } from '@ui-rl/contracts';
import { goalOf } from '@ui-rl/episode';
import type { OpenAI } from 'openai';
import { correctionOf } from './correction';
import { recordOf } from '../episode-record';
import { OutputFile } from './output-file';
import type { EpisodeWriter, ImageOf } from './writer';

type ChatPart = OpenAI.ChatCompletionContentPart;
type ChatMessage = OpenAI.ChatCompletionMessageParam;

/**
 * Writes one conversation per line, in the form of OpenAI's chat messages: the goal with the first screenshot, then
 * answers and screenshots in turn. `ui_rl` has what messages cannot express.
 */
export class ChatWriter implements EpisodeWriter {
  images = 0;

  private constructor(
    private readonly file: OutputFile,
    private readonly imageOf: ImageOf,
  ) {}

  static async create(path: string, imageOf: ImageOf): Promise<ChatWriter> {
    return new ChatWriter(await OutputFile.create(path), imageOf);
  }

  get bytes(): number {
    return this.file.bytes;
  }

  async write(trajectory: Trajectory): Promise<void> {
    const { request, turns, initialState = null } = trajectory;
    const messages: ChatMessage[] = [];
    for (const [index, turn] of turns.entries()) {
      const notice = index === 0 ? goalOf(request.task, initialState) : correctionOf(turns[index - 1]);
      messages.push({ role: 'user', content: await this.userParts(turn, notice) });
      messages.push({ role: 'assistant', content: turn.text });
    }
    await this.file.appendLine({ messages, ui_rl: recordOf(trajectory) });
  }

  private async userParts(
    { screenText, promptImages, screenshot }: Turn,
    notice?: string,
  ): Promise<ChatPart[]> {
    const texts = [notice, screenText].filter((text) => text !== undefined && text !== '') as string[];
    const parts = texts.map((text): ChatPart => ({ type: 'text', text }));
    if (promptImages.length === 0) return parts.length > 0 ? parts : [{ type: 'text', text: '' }];
    this.images += 1;
    const png = Buffer.from(await this.imageOf(screenshot)).toString('base64');
    return [...parts, { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }];
  }

  finish(): Promise<void> {
    return this.file.finish();
  }

  discard(): Promise<void> {
    return this.file.discard();
  }
}
