import { keepsQueuesWhole } from './server-version';

it.each([
  ['2.9.10', false],
  ['2.10.26', false],
  ['2.11.0', true],
  ['2.15.1', true],
  ['3.0.0', true],
  ['v2.12.8-RC.1', true],
  ['main', true],
])('nats-server %s', (version, whole) => {
  expect(keepsQueuesWhole(version)).toBe(whole);
});
