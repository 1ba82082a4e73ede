import { Random } from '@ui-rl/random';
import { element, screenOf } from './hand-drawn';
import { pointQuestions } from '../src/curriculum/questions/point';
import { readQuestions } from '../src/curriculum/questions/read';
import { copyQuestions, keyQuestion, scrollQuestion } from '../src/curriculum/questions/plain';
const form = screenOf(
  element('heading', 'Trip', [10, 0, 60, 14], { interactive: false }),
  element('label', 'City', [10, 20, 30, 12], { interactive: false }),
  element('text field', 'City', [50, 20, 80, 14], {
    label: 2,
    value: 'Oslo',
    under: 'Trip',
    state: { focused: true },
  }),
  element('checkbox', 'Window', [10, 40, 12, 12], { label: 5, state: { checked: true }, hidden: true }),
  element('label', 'Window', [26, 40, 50, 12], { interactive: false }),
  element('checkbox', 'Aisle', [10, 56, 12, 12], { label: 7, hidden: true }),
  element('label', 'Aisle', [26, 56, 50, 12], { interactive: false }),
  element('button', 'Save', [10, 80, 40, 16]),
  element('button', 'Cancel', [60, 80, 50, 16]),
  element('shape', 'red circle', [10, 110, 20, 20], {
    attributes: { color: 'red', shape: 'circle', size: 'small' },
  }),
  element('shape', 'blue circle', [40, 110, 20, 20], {
    attributes: { color: 'blue', shape: 'circle', size: 'small' },
  }),
  element('icon', 'trash', [80, 110, 16, 16], { attributes: { icon: 'trash' } }),
);
for (let s = 0; s < 12; s++) {
  const r = new Random(s);
  for (const q of pointQuestions(form, r, { count: 4, split: 'training' }))
    console.log(q.intent, '|', q.goal, '|', JSON.stringify(q.action));
  for (const q of readQuestions(form, r, { count: 2, split: 'training' }))
    console.log(q.intent, '|', q.goal, '|', q.answer);
  for (const q of copyQuestions(form, ['hello', 'a.b#'], r, 'training'))
    console.log(q.intent, '|', q.goal, '|', JSON.stringify(q.action));
  for (const q of [keyQuestion(form, r, 'training'), scrollQuestion(form, r, 'training')])
    console.log(q.intent, '|', q.goal, '|', JSON.stringify(q.action));
}
const t0 = performance.now();
for (let s = 0; s < 200; s++) pointQuestions(form, new Random(s), { count: 8, split: 'training' });
console.log((performance.now() - t0) / 200, 'ms per screen');
