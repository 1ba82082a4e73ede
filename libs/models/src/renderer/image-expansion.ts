import { ModelError } from '../errors';
import type { Family, ImageGeometry } from '../families/base';
import type { Tokenizer } from '../tokenizer';
import type { ControlTokens } from './control-tokens';

/** A prompt's text in which each image token stands for a run of them. */
export interface ExpandedPrompt {
  text: string;
  /** length of each run, in order */
  runs: number[];
}

/** Replaces each image token of the chat template with the family's text for an image. */
export class ImageExpansion {
  constructor(
    private readonly control: ControlTokens,
    private readonly family: Pick<Family, 'imageText' | 'finishPrompt' | 'templateImage'>,
    private readonly imageToken: string,
    private readonly tokenizer: Pick<Tokenizer, 'spacesAdded'>,
  ) {}

  /**
   * @param text of the template, with marks; image tokens spelled in messages do not count.
   * @throws ModelError `bad-input` if the template does not show every image exactly once.
   */
  expand(text: string, images: readonly ImageGeometry[]): ExpandedPrompt {
    const pieces = this.control.splitAt(text, this.family.templateImage ?? this.imageToken);
    if (pieces.length !== images.length + 1) {
      throw new ModelError(
        'bad-input',
        `the chat template wrote ${pieces.length - 1} image placeholders for ${images.length} images; it must show every image part once`,
      );
    }
    const texts = images.map((image) => this.family.imageText(image, this.imageToken));
    const joined = pieces.map((piece, index) => piece + (texts[index]?.text ?? '')).join('');
    const finished = this.family.finishPrompt?.(joined, this.tokenizer) ?? joined;
    return { text: finished, runs: texts.flatMap(({ runs }) => runs) };
  }
}
