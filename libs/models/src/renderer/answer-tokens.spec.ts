import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChatTemplate, type ChatMessage } from '../chat';
import { loadFamily } from '../folder';
import { loadImageProcessor } from '../image';
import { Tokenizer } from '../tokenizer';
import { specialToken } from '../tokenizer/build';
import { makeRenderer, type Renderer, type RendererParts } from '.';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');
const BOX = '<|box_start|>';

type Json = Record<string, unknown>;

/** A model whose tokenizer has additional special tokens, like models for user interfaces. */
async function partsWith(name: string, tokens: readonly string[], template?: string): Promise<RendererParts> {
  const model = join(fixtures, name, 'model');
  const json = (file: string) => JSON.parse(readFileSync(join(model, file), 'utf8')) as Json;
  const base = await Tokenizer.load(model);
  const own = json('tokenizer.json');
  const added = tokens.map((token, index) => specialToken(token, base.vocabSize + index));
  const tokenizer = new Tokenizer({
    tokenizer: { ...own, added_tokens: [...(own.added_tokens as object[]), ...added] },
    tokenizerConfig: json('tokenizer_config.json'),
    generationConfig: json('generation_config.json'),
  });
  const family = await loadFamily(model);
  const imageProcessor = await loadImageProcessor(model, family);
  const chat =
    template === undefined
      ? await ChatTemplate.load(model, tokenizer.namedTokens)
      : new ChatTemplate(template, tokenizer.namedTokens);
  return { tokenizer, chat, imageProcessor, family };
}

const said = (role: ChatMessage['role'], text: string): ChatMessage => ({
  role,
  content: [{ type: 'text', text }],
});

const count = (ids: readonly number[], id: number | undefined): number =>
  ids.filter((each) => each === id).length;

describe.each(readdirSync(fixtures))('a model of %s', (name) => {
  let parts: RendererParts;
  let renderer: Renderer;
  let box: number;
  beforeAll(async () => {
    parts = await partsWith(name, [BOX]);
    renderer = makeRenderer(parts);
    box = parts.tokenizer.requireId(BOX);
  });

  test('reads its own special tokens in its answers, and characters in what others say', () => {
    const asked = said('user', `say ${BOX}`);
    const answered = said('assistant', `click(start_box='${BOX}(1,2)')`);
    expect(count(renderer.render([asked], []).tokenIds, box)).toBe(0);
    const { tokenIds, assistantMask } = renderer.renderConversation([asked, answered], []);
    expect(count(tokenIds, box)).toBe(1);
    expect(assistantMask[tokenIds.indexOf(box)]).toBe(1);
    const next = renderer.render([asked, answered, said('user', BOX)], []);
    expect(count(next.tokenIds, box)).toBe(1);
    expect(count(renderer.responseIds(`${BOX}${BOX}`), box)).toBe(2);
  });

  test('takes no token for an answer that begins or ends a turn, or stands for an image', () => {
    const { tokenizer, family } = parts;
    const control = [
      ...tokenizer.eosTokenIds,
      family.shape.imageTokenId,
      ...family.imageMarks.flatMap((mark) => tokenizer.idOf(mark) ?? []),
      ...['<|im_start|>', '<|vision_start|>', '<|video_pad|>', '<s>'].flatMap(
        (it) => tokenizer.specialTokens.get(it) ?? [],
      ),
    ];
    const spelled = [...new Set(control)].map((id) => tokenizer.tokenOf(id)).join(' ');
    const asked = said('user', 'hi');
    const plain = renderer.renderConversation([asked, said('assistant', 'x')], []).tokenIds;
    const evil = renderer.renderConversation([asked, said('assistant', `x ${spelled}`)], []).tokenIds;
    for (const id of control) expect([id, count(evil, id)]).toEqual([id, count(plain, id)]);
    expect(renderer.answerText([...tokenizer.encode('x'), ...control])).toBe('x');
  });

  test('says what it has sampled, token by token', () => {
    const { tokenizer } = parts;
    const sampled = [...tokenizer.encode('click'), box, ...tokenizer.encode('é(1,2)'), tokenizer.endOfTurnId];
    const text = renderer.answerText(sampled);
    expect(text.split(BOX)).toHaveLength(2);
    const decoder = renderer.answerDecoder();
    expect(sampled.map((id) => decoder.push(id)).join('') + decoder.flush()).toBe(text);
  });
});

test.each(readdirSync(fixtures).filter((name) => !name.startsWith('llava-a') && !name.startsWith('llava-b')))(
  'what a model of %s has sampled is the same tokens in its history',
  async (name) => {
    const parts = await partsWith(name, [BOX, '<｜point｜>']);
    const renderer = makeRenderer(parts);
    const { tokenizer } = parts;
    const text = `Thought: I click.\nAction: click(start_box='${BOX}(1,2)${BOX}')<｜point｜> 3`;
    const sampled = renderer.responseIds(text);
    expect(renderer.responseIds(renderer.answerText(sampled))).toEqual(sampled);
    const history = [said('user', 'Save'), said('assistant', renderer.answerText(sampled))];
    const after = renderer.render([...history, said('user', 'And?')], []).tokenIds;
    expect(after.join()).toContain(sampled.slice(0, -1).join());
    expect(count(after, tokenizer.requireId('<｜point｜>'))).toBe(1);
  },
);

describe('special tokens that a template knows', () => {
  const frame = (inAnswer: string): string =>
    `{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' }}` +
    `{%- if message.content is string %}{{- message.content }}{%- else %}{%- for part in message.content %}{{- part.text }}{%- endfor %}{%- endif %}` +
    `{%- if message.tool_calls %}${inAnswer}{%- endif %}{{- '<|im_end|>\\n' }}{%- endfor %}` +
    `{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

  test('are the model’s where the template writes them within answers', async () => {
    const parts = await partsWith('qwen2-5-vl-a', ['<call>', '</call>'], frame("{{- '<call>x</call>' }}"));
    const renderer = makeRenderer(parts);
    const ids = renderer.responseIds('<call>{}</call>');
    expect(renderer.answerText(ids)).toBe('<call>{}</call>');
    expect(['<call>', '</call>'].map((token) => count(ids, parts.tokenizer.idOf(token)))).toEqual([1, 1]);
    const asked = renderer.render([said('user', '<call>')], []);
    expect(count(asked.tokenIds, parts.tokenizer.idOf('<call>'))).toBe(0);
  });

  test('are the template’s where it writes them elsewhere', async () => {
    const template = `${frame('')}{%- if false %}<tool_result>{%- endif %}`;
    const parts = await partsWith('qwen2-5-vl-a', ['<tool_result>'], template);
    const renderer = makeRenderer(parts);
    const id = parts.tokenizer.requireId('<tool_result>');
    expect(count(renderer.responseIds('<tool_result>'), id)).toBe(0);
    expect(renderer.answerText([...parts.tokenizer.encode('x'), id])).toBe('x');
  });

  test('stay characters where a template cuts the text of a message at them', async () => {
    const template = frame('').replace('{{- part.text }}', "{{- part.text.split('<|im_end|>')[-1] }}");
    const parts = await partsWith('qwen2-5-vl-a', [], template);
    const renderer = makeRenderer(parts);
    const { tokenIds } = renderer.render([said('user', 'a<|im_end|>b')], []);
    expect(parts.tokenizer.decode(tokenIds)).toBe('<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n');
  });
});
