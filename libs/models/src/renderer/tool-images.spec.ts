import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChatTemplate, type ChatMessage } from '../chat';
import { loadPromptFolder } from '../folder';
import { makeRenderer, type Renderer, type RendererParts } from '.';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');
const names = readdirSync(fixtures).filter((name) => name.endsWith('-a'));

function pngs(name: string, count: number): Buffer[] {
  return Array<Buffer>(count).fill(readFileSync(join(fixtures, name, 'images/0.png')));
}

const answered = (...results: Extract<ChatMessage['content'], object>[]): ChatMessage[] => [
  { role: 'user', content: [{ type: 'text', text: 'Tap.' }] },
  {
    role: 'assistant',
    content: [{ type: 'text', text: 'yes' }],
    tool_calls: [{ function: { name: 'tap', arguments: { x: 1 } } }],
  },
  ...results.map((content): ChatMessage => ({ role: 'tool', content })),
];
const text = (said: string) => ({ type: 'text' as const, text: said });
const image = { type: 'image' as const };
const shown = answered([text('done'), image, text('Next?')]);

describe.each(names)('an image of a tool message, for a model of %s', (name) => {
  let parts: RendererParts;
  beforeAll(async () => {
    parts = await loadPromptFolder(join(fixtures, name, 'model'));
  });

  /** The prompt's text, with U+FFFC for each run of image tokens. */
  const written = async (renderer: Renderer): Promise<string> => {
    const prompt = await renderer.renderPngs(shown, pngs(name, 1));
    expect(prompt.imageTokens).toBeGreaterThan(0);
    expect(prompt.images).toHaveLength(1);
    return renderer.promptText(prompt.tokenIds);
  };

  test('is where the template of its family writes it', async () => {
    const renderer = makeRenderer(parts);
    if (name.startsWith('gemma3')) {
      await expect(written(renderer)).rejects.toThrow(
        /has no place for it: put the image into a message of the user/,
      );
      await expect(renderer.renderPngs(answered([text('done')]), [])).rejects.toThrow(
        /Conversation roles must alternate/,
      );
      return;
    }
    expect(await written(renderer)).toMatch(
      name.startsWith('qwen')
        ? /user\n<tool_response>\ndone<\|vision_start\|>\uFFFC<\|vision_end\|>Next\?\n<\/tool_response><\|im_end\|>\n/
        : name.startsWith('llava')
          ? /tool:? \uFFFC\ndone\s+Next\?/i
          : /tool(:|\n)\s*done[^]*\uFFFC[^]*Next\?/i,
    );
  });

  const marks = name.startsWith('qwen') ? ['<|vision_start|>', '<|vision_end|>'] : ['', ''];
  /** @param tool what a template writes for the content of a tool message */
  const rendererWith = (tool: string): Renderer => {
    const token = parts.family.templateImage ?? parts.tokenizer.tokenOf(parts.family.shape.imageTokenId);
    const each = (ofImage: string) =>
      `{%- for part in message.content %}{{- ${ofImage} if part.type == 'image' else part.text }}{%- endfor %}`;
    const withImages = each(`'${marks[0]}${token}${marks[1]}'`);
    const ofTool = tool === 'images' ? withImages : tool === 'texts' ? each("''") : tool;
    const source =
      `{%- for message in messages %}{{- '<' + message.role + '>' }}` +
      `{%- if message.role == 'tool' %}{{- '[' }}${ofTool}{{- ']' }}{%- else %}${withImages}{%- endif %}{{- '\\n' }}` +
      `{%- endfor %}{%- if add_generation_prompt %}{{- '<assistant>' }}{%- endif %}`;
    return makeRenderer({ ...parts, chat: new ChatTemplate(source, parts.tokenizer.namedTokens) });
  };

  test.each([
    ['leaves it out', 'texts'],
    ['takes one text', '{{- message.content }}'],
    ['adds to one text', "{{- message.content + '' }}"],
  ])('is in its place where a template %s', async (_, tool) => {
    const two = answered([text('done'), image, text('Next?')], [image, text('more')], [text('end')]);
    const given = pngs(name, 2);
    const own = await rendererWith('images').renderPngs(two, given);
    const prompt = await rendererWith(tool).renderPngs(two, given);
    expect(prompt.tokenIds).toEqual(own.tokenIds);
    expect(prompt.images).toEqual(own.images);
  });

  test('cannot be written by a text', async () => {
    const said = answered([text('a\uE0FE\uE0FFb<image>')]);
    const prompt = await rendererWith('texts').renderPngs(said, []);
    expect(prompt.imageTokens).toBe(0);
  });

  test('is refused where a template writes nothing of tool messages, which then may have text only', async () => {
    const renderer = rendererWith('');
    await expect(renderer.renderPngs(shown, pngs(name, 1))).rejects.toThrow(
      /a tool message holds an image, and the chat template has no place for it: put the image into a message of the user/,
    );
    const { tokenIds } = await renderer.renderPngs(answered([text('done')]), []);
    expect(tokenIds.length).toBeGreaterThan(0);
  });
});

test.each([
  [
    'as that of Qwen2-VL does',
    false,
    '<|im_start|>tool\ndone<|vision_start|>\uFFFC<|vision_end|>Next?<|im_end|>\n',
  ],
  [
    'as one text, as that of Qwen2.5 does',
    true,
    '<|im_start|>user\n<tool_response>\ndone<|vision_start|>\uFFFC<|vision_end|>Next?\n</tool_response><|im_end|>\n',
  ],
])('a template that writes tool messages %s shows their images', async (_, isOneText, expected) => {
  const parts = await loadPromptFolder(join(fixtures, 'qwen2-vl-a/model'));
  const oneText = "'<|im_start|>user\\n<tool_response>\\n' + m.content + '\\n</tool_response><|im_end|>\\n'";
  const ofPart = "'<|vision_start|><|image_pad|><|vision_end|>' if part.type == 'image' else part.text";
  const source =
    `{%- for m in messages %}{%- if m.role == 'tool' and ${isOneText} %}{{- ${oneText} }}{%- else %}` +
    `{{- '<|im_start|>' + m.role + '\\n' }}{%- for part in m.content %}{{- ${ofPart} }}{%- endfor %}` +
    `{{- '<|im_end|>\\n' }}{%- endif %}{%- endfor %}` +
    `{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;
  const renderer = makeRenderer({ ...parts, chat: new ChatTemplate(source, parts.tokenizer.namedTokens) });
  const { tokenIds } = await renderer.renderPngs(shown, pngs('qwen2-vl-a', 1));
  expect(renderer.promptText(tokenIds)).toContain(expected);
});
