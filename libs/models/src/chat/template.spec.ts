import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer } from '../tokenizer';
import { ChatTemplate, type ChatMessage } from '.';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');
const folder = join(fixtures, 'qwen3-vl-a');

interface Expected {
  messages: ChatMessage[];
  prompt_text: string;
  template: {
    messages: ChatMessage[];
    tools: object[] | null;
    add_generation_prompt: boolean;
    variables?: Record<string, unknown>;
    text: string;
  }[];
}

describe.each(readdirSync(fixtures))('the chat template of %s', (name) => {
  const expected = JSON.parse(readFileSync(join(fixtures, name, 'expected.json'), 'utf8')) as Expected;
  let template: ChatTemplate;

  beforeAll(async () => {
    const { namedTokens } = await Tokenizer.load(join(fixtures, name, 'model'));
    template = await ChatTemplate.load(join(fixtures, name, 'model'), namedTokens);
  });

  test('renders text and images as the reference does', () => {
    expect(template.render(expected.messages, { addGenerationPrompt: true })).toBe(expected.prompt_text);
  });

  test.each(expected.template.map((sample, index) => [index, sample] as const))(
    'renders sample %i as the reference does',
    (_, sample) => {
      const text = template.render(sample.messages, {
        addGenerationPrompt: sample.add_generation_prompt,
        tools: sample.tools ?? undefined,
        variables: sample.variables,
      });
      expect(text).toBe(sample.text);
    },
  );
});

describe('a chat template', () => {
  let template: ChatTemplate;

  beforeAll(async () => {
    template = await ChatTemplate.load(join(folder, 'model'));
  });

  test('a template with the date has that of today', () => {
    jest.useFakeTimers();
    try {
      const dated = new ChatTemplate('{{ strftime_now("%Y") }}');
      const years = [2030, 2031].map((year) => {
        jest.setSystemTime(new Date(year, 5));
        return dated.render([{ role: 'user', content: 'When?' }], { addGenerationPrompt: true });
      });
      expect(years).toEqual(['2030', '2031']);
    } finally {
      jest.useRealTimers();
    }
  });

  test('a conversation is another one with another name, part, or head', () => {
    const render = (content: ChatMessage['content'], addGenerationPrompt = true) =>
      template.render([{ role: 'user', content }], { addGenerationPrompt });
    const asked = [
      render('hi'),
      render('hi', false),
      render([{ type: 'text', text: 'hi' }, { type: 'image' }]),
      render([{ type: 'image' }, { type: 'text', text: 'hi' }]),
    ];
    expect(new Set(asked).size).toBe(4);
    expect(render('hi')).toBe(asked[0]);
  });

  test('a text part with an undefined image is not an image', () => {
    const text = template.render(
      [{ role: 'user', content: [{ type: 'text', text: 'hi', image: undefined }] }],
      {
        addGenerationPrompt: false,
      },
    );
    expect(text).toBe('<|im_start|>user\nhi<|im_end|>\n');
  });
});

describe('a template that asks whether to reason', () => {
  const load = (name: string) => ChatTemplate.load(join(fixtures, name, 'model'));
  const end = (template: ChatTemplate) =>
    template.render([{ role: 'user', content: 'x' }], { addGenerationPrompt: true }).split('assistant\n')[1];

  test.each([
    ['qwen3-5-a', '<think>\n'],
    ['qwen3-5-b', '<think>\n\n</think>\n\n'],
  ])('%s does what its folder says, or what is asked of it', async (name, own) => {
    const template = await load(name);
    expect(end(template)).toBe(own);
    expect(end(template.thinking(true))).toBe('<think>\n');
    expect(end(template.thinking(false))).toBe('<think>\n\n</think>\n\n');
  });

  test('one that does not ask refuses', async () => {
    const template = await load('qwen3-vl-a');
    expect(() => template.thinking(false)).toThrow(/chat_template\.jinja has no variable enable_thinking/);
  });
});

describe('where a template is found', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'chat-template-'));
  });
  afterEach(() => rm(dir, { recursive: true }));

  const hello: ChatMessage[] = [{ role: 'user', content: 'x' }];
  const render = async () =>
    (await ChatTemplate.load(dir, { eos_token: '</s>' })).render(hello, { addGenerationPrompt: false });

  const write = (file: string, template: unknown) =>
    writeFile(join(dir, file), JSON.stringify({ chat_template: template }));

  test('the order of files is that of AutoProcessor of transformers 5', async () => {
    await expect(render()).rejects.toThrow(/has no chat template/);
    await write('tokenizer_config.json', 'tokenizer{{ eos_token }}');
    expect(await render()).toBe('tokenizer</s>');
    await writeFile(
      join(dir, 'chat_template.jinja'),
      '{% if true %}\n  {% set a = 1 %}\njinja{{ a }}\n{% endif %}\n',
    );
    expect(await render()).toBe('jinja1\n');
    await write('chat_template.json', 'json');
    expect(await render()).toBe('json');
    await write('processor_config.json', 'processor');
    expect(await render()).toBe('processor');
    await Promise.all(['processor_config.json', 'chat_template.json'].map((file) => write(file, null)));
    expect(await render()).toBe('jinja1\n');
  });

  describe.each(['processor_config.json', 'chat_template.json', 'tokenizer_config.json'])('in %s', (file) => {
    test.each([
      ['a text', 'said{{ eos_token }}'],
      ['an object of named ones', { tool_use: 'no', default: 'said{{ eos_token }}' }],
      [
        'a list of named ones',
        [
          { name: 'tool_use', template: 'no' },
          { name: 'default', template: 'said{{ eos_token }}' },
        ],
      ],
    ])('it is %s', async (_, template) => {
      await write(file, template);
      expect(await render()).toBe('said</s>');
    });

    test.each([
      [{ tool_use: 'x', rag: 'y' }, 'has tool_use, rag; expected a text, or one that is named "default"'],
      [[{ name: 'rag', template: 'x' }], 'has rag; expected'],
      [[], 'has no template; expected'],
      [[null], 'has undefined; expected'],
      [7, 'has no template; expected'],
      [{ default: 7 }, 'has default; expected'],
    ])('%j is refused', async (template, message) => {
      await write(file, template);
      await expect(render()).rejects.toThrow(`${join(dir, file)}: "chat_template" ${message}`);
    });
  });

  test('an exception of the template becomes the error message', async () => {
    await writeFile(join(dir, 'chat_template.jinja'), "{{ raise_exception('roles must alternate') }}");
    await expect(render()).rejects.toThrow(
      /chat_template\.jinja refuses the conversation: .*roles must alternate/,
    );
    await writeFile(join(dir, 'chat_template.jinja'), '{% if %}');
    await expect(render()).rejects.toThrow(/cannot be parsed/);
  });
});
