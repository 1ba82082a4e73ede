import { ChatTemplate } from '../chat';
import { answerFrame, withoutLead } from './answer-frame';

const tokens = new Map([
  [1, '</s>'],
  [2, '<end>'],
]);
const tokenizer = {
  eosTokenIds: [1, 2],
  endOfTurnId: 1,
  tokenOf: (id: number) => tokens.get(id),
};

function frameOf(message: string, prompt: string) {
  const template = `{% for message in messages %}${message}{% endfor %}{% if add_generation_prompt %}${prompt}{% endif %}`;
  return answerFrame(new ChatTemplate(template), tokenizer);
}

const text = '{{ message.content[0].text }}';

test('white space between prompt and answer leads answers; the token behind them ends them', () => {
  const frame = frameOf(`{{ message.role }}: ${text}<end>\n</s>`, 'assistant:');
  expect(frame).toEqual({ prompt: 'user: Q7<end>\n</s>assistant:', lead: ' ', endOfTurnId: 2 });
});

test('where the prompt ends as answers begin, nothing leads them', () => {
  expect(frameOf(`<{{ message.role }}>\n${text}</s>\n`, '<assistant>\n')).toMatchObject({
    lead: '',
    endOfTurnId: 1,
  });
});

test('text other than white space belongs to the template; without an ending token it is the first', () => {
  expect(frameOf(`{{ message.role }}:${text}`, 'assistant')).toMatchObject({ lead: '', endOfTurnId: 1 });
});

test('a template that wants other conversations has the tokenizer’s end of turn', () => {
  expect(frameOf('{{ raise_exception("no") }}', '')).toEqual({ prompt: '', lead: '', endOfTurnId: 1 });
});

test('a sampled answer loses the white space that the template writes before it', () => {
  const message = (role: 'user' | 'assistant', said: string) => ({
    role,
    content: [{ type: 'text' as const, text: said }],
  });
  const messages = [message('user', ' a'), message('assistant', '  b'), message('assistant', 'c')];
  expect(withoutLead(messages, ' ').map(({ content }) => content[0].text)).toEqual([' a', ' b', 'c']);
  expect(withoutLead(messages, '')).toEqual(messages);
});
