import { Task } from '@ui-rl/contracts';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import * as fastCheck from 'fast-check';
import { readTask } from './read-task';

const GOOD = {
  id: 'open_cart',
  name: 'The cart',
  description: 'Open the cart',
  goalFrom: 'goal',
  source: 'shop',
  category: 'app',
  difficulty: 'easy',
  tags: ['cart'],
  prerequisites: ['open_shop'],
  maxSteps: 5,
  environment: { kind: 'browser', options: { url: 'http://shop.example/' } },
  start: { page: 'home' },
  checks: [
    { path: 'url', operator: 'contains', value: '/cart' },
    { kind: 'state', path: 'cart.open', operator: 'equals', value: true },
    { kind: 'url', operator: 'contains', value: '/cart' },
    { kind: 'text', value: 'Your cart' },
    { kind: 'element', selector: '#total', property: 'text', operator: 'contains', value: '9' },
    { kind: 'storage', storage: 'local', key: 'cart', path: 'items.0', operator: 'exists' },
    { kind: 'request', method: 'GET', url: '*/cart', body: { a: 1 }, at_least: 1, at_most: 3 },
    { kind: 'expression', expression: 'cart.open', value: true },
    { kind: 'download', name: 'report-*.csv', operator: 'contains', value: 'tea' },
    { kind: 'download', name: 'old.csv', operator: 'exists', value: false },
  ],
};

it('reads a task with all fields, and the names that run files use', () => {
  expect(readTask(structuredClone(GOOD), 'here')).toEqual(GOOD);
  const { maxSteps, checks, goalFrom, ...rest } = GOOD;
  const written = { ...rest, max_steps: maxSteps, verifier: checks, goal_from: goalFrom };
  expect(readTask(written, 'here')).toEqual(GOOD);
  expect(() => readTask({ ...GOOD, max_steps: 3 }, 'here')).toThrow(
    'tasks: here: "max_steps" and "maxSteps" are the same field: leave one of them out',
  );
});

const check = (place: number, change: object) => ({
  checks: GOOD.checks.map((each, index) => (index === place ? { ...each, ...change } : each)),
});

it.each<[object, string]>([
  [{ description: 'x', environment: [] }, 'environment must be an object, found a list'],
  [
    { id: 7 },
    'id is 7, expected a text that is not empty, which must be shorter than or equal to 200 characters',
  ],
  [{ id: '' }, 'id is "", expected a text that is not empty'],
  [
    { id: 'x'.repeat(201) },
    'x…, expected a text that is not empty, which must be shorter than or equal to 200 characters',
  ],
  [{ name: [] }, 'name is [], expected a text'],
  [{ description: undefined }, 'description is nothing, expected a text that is not empty'],
  [{ description: '' }, 'description is "", expected a text that is not empty'],
  [{ goalFrom: 1 }, 'goalFrom is 1, expected a text'],
  [{ source: 1 }, 'source is 1, expected a text'],
  [{ category: 'shop' }, 'category is "shop", expected one of system, navigation, settings, app, input'],
  [{ difficulty: 'Easy' }, 'difficulty is "Easy", expected one of easy, medium, hard'],
  [{ tags: 'cart' }, 'tags is "cart", expected a list'],
  [{ tags: [1] }, 'tags is [1], expected a list'],
  [{ prerequisites: {} }, 'prerequisites is {}, expected a list'],
  [{ maxSteps: 0 }, 'maxSteps is 0, expected a whole number of at least 1'],
  [{ maxSteps: '5' }, 'maxSteps is "5", expected a whole number'],
  [{ environment: 'browser' }, 'environment is "browser", expected an object'],
  [
    { environment: { kind: 'Browser', options: {} } },
    'environment.kind is "Browser", expected the name of an environment',
  ],
  [{ environment: { kind: 'browser' } }, 'environment.options is nothing, expected an object'],
  [
    { environment: { kind: 'browser', options: {}, url: 1 } },
    'unknown field "environment.url". Known: kind, options',
  ],
  [{ start: 'home' }, 'start is "home", expected an object'],
  [{ checks: {} }, 'checks is {}, expected a list of objects'],
  [{ checks: ['url'] }, 'checks.0 is "url", expected an object'],
  [{ checks: [null] }, 'checks.0 is null, expected an object'],
  [{ desciption: 'x' }, 'unknown field "desciption". Did you mean description?'],
  [check(0, { path: '' }), 'checks.0.path is "", expected a text that is not empty'],
  [
    check(0, { operator: 'is' }),
    'checks.0.operator is "is", expected one of equals, not_equals, contains, not_contains, matches, at_least, at_most, exists',
  ],
  [check(0, { value: undefined }), 'checks.0.value is nothing, expected'],
  [check(0, { valeu: 1 }), 'unknown field "checks.0.valeu". Did you mean value?'],
  [
    check(2, { kind: 'ulr' }),
    'checks.2.kind is "ulr", expected one of state, url, text, element, storage, request, expression',
  ],
  [check(2, { value: 3 }), 'checks.2.value is 3, expected a text that is not empty'],
  [check(2, { path: 'url' }), 'unknown field "checks.2.path". Known: kind, operator, value'],
  [
    check(3, { operator: 'at_least' }),
    'checks.3.operator is "at_least", expected one of equals, not_equals, contains, not_contains, matches',
  ],
  [check(4, { selector: '' }), 'checks.4.selector is "", expected a text that is not empty'],
  [
    check(4, { property: 'colour' }),
    'checks.4.property is "colour", expected one of exists, visible, text, value, checked, attribute, count',
  ],
  [check(4, { property: 'attribute' }), 'checks.4.attribute is nothing, expected a text that is not empty'],
  [
    check(4, { property: 'visible', value: 'yes' }),
    'checks.4.value is "yes", expected true or false for property visible',
  ],
  [
    check(4, { property: 'count', value: '2' }),
    'checks.4.value is "2", expected a number for property count',
  ],
  [check(5, { storage: 'disk' }), 'checks.5.storage is "disk", expected one of local, session, cookie'],
  [check(5, { key: '' }), 'checks.5.key is "", expected a text that is not empty'],
  [check(5, { operator: 'equals' }), 'checks.5.value is nothing, expected'],
  [check(6, { method: 'post' }), 'checks.6.method is "post", expected a method in capitals, such as POST'],
  [check(6, { url: 3 }), 'checks.6.url is 3, expected a text'],
  [check(6, { body: [] }), 'checks.6.body is [], expected a text, or an object of fields'],
  [check(6, { at_most: -1 }), 'checks.6.at_most is -1, expected a whole number of at least 0'],
  [
    {
      checks: [
        { kind: 'state', ...Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`a${at}`, at])) },
      ],
    },
    'expected an object of at most 128 fields',
  ],
  ...['/cart', 'shop.example/cart', 'localhost:3000', '*/cart'].map((value): [object, string] => [
    check(2, { operator: 'equals', value }),
    'expected a whole address, such as https://shop.example/cart',
  ]),
  [
    check(2, { operator: 'not_equals', value: '/cart' }),
    'checks.2.value is "/cart", expected a whole address',
  ],
  [check(2, { operator: 'matches', value: '/cart*' }), 'expected a whole address, or begin with *'],
  [check(2, { value: ' ' }), 'checks.2.value is " ", expected a whole address'],
  [check(6, { url: '/cart' }), 'checks.6.url is "/cart", expected a whole address, or begin with *'],
  ...[' ', '\u00a0', '\u200b'].map((value): [object, string] => [
    check(3, { value }),
    'expected a text that can be seen',
  ]),
  [
    check(0, { value: '' }),
    'expected a text that is not empty, or an element of a list for operator contains',
  ],
  [
    check(0, { operator: 'at_least', value: '9' }),
    'checks.0.value is "9", expected a number for operator at_least',
  ],
  [check(0, { operator: 'exists', value: 'no' }), 'expected true or false for operator exists'],
  [check(0, { operator: 'matches', value: 9 }), 'expected a text for operator matches'],
  [check(5, { operator: 'at_most', value: '9' }), 'expected a number for operator at_most'],
  [check(7, { operator: 'not_contains', value: '' }), 'for operator not_contains'],
  [
    check(4, { operator: 'at_least', value: '9' }),
    'for property text, compared by equals, not_equals, contains',
  ],
  [
    check(4, { property: 'count', operator: 'not_contains', value: 2 }),
    'expected a number for property count, compared by equals, not_equals, at_least, at_most, exists',
  ],
  [
    check(4, { property: 'checked', operator: 'contains', value: true }),
    'for property checked, compared by equals',
  ],
  [check(7, { expression: '' }), 'checks.7.expression is "", expected a text that is not empty'],
  [check(8, { value: 3 }), 'checks.8.value is 3, expected the text of a file'],
  [check(8, { value: '' }), 'expected the text of a file, or a part of it that is not empty'],
  [check(8, { operator: 'at_least' }), 'checks.8.operator is "at_least", expected one of equals, not_equals'],
  [check(9, { value: 'old' }), 'checks.9.value is "old", expected true or false for operator exists'],
])('says where a field is wrong, what was found and what was expected: %j', (change, message) => {
  const read = () => readTask({ ...structuredClone(GOOD), ...change }, 'tasks.yaml, task 3');
  expect(read).toThrow(/^tasks: tasks\.yaml, task 3: /);
  expect(read).toThrow(message);
});

it('takes nothing without a look that the classes would refuse', () => {
  const {
    assert,
    property,
    oneof,
    constant,
    constantFrom,
    dictionary,
    string,
    integer,
    boolean,
    object,
    array,
  } = fastCheck;
  const fields = Object.keys(GOOD) as (keyof typeof GOOD)[];
  const odd = oneof(
    constant(''),
    string(),
    integer(),
    boolean(),
    constant(null),
    object({ maxDepth: 2 }),
    array(string()),
  );
  const value = oneof(odd, constantFrom(...fields.map((field) => GOOD[field])));
  const wrong: unknown[] = [];
  let taken = 0;
  const look = property(dictionary(constantFrom(...fields), value), (changes) => {
    const plain: Record<string, unknown> = { description: 'x', ...changes };
    if (!isTaken(plain)) return;
    taken += 1;
    const problems = validateSync(plainToInstance(Task, structuredClone(plain)), {
      whitelist: true,
      forbidNonWhitelisted: true,
    });
    if (problems.length > 0) wrong.push(plain);
  });
  assert(look, { numRuns: 500, seed: 1 });
  expect(wrong).toEqual([]);
  expect(taken).toBeGreaterThan(20);
});

function isTaken(plain: object): boolean {
  try {
    readTask(structuredClone(plain), 'here');
    return true;
  } catch {
    return false;
  }
}
