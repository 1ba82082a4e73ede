import { hostname } from 'node:os';
import { isForThisMachineOnly, pageAddresses, runPath } from './page-addresses';

it('a page on the loopback address is for this machine only', () => {
  const listens = { host: '127.0.0.1', port: 8080 };
  expect(pageAddresses(listens)).toEqual(['http://127.0.0.1:8080']);
  expect(isForThisMachineOnly(listens)).toBe(true);
  expect(pageAddresses({ host: '::1', port: 80 })).toEqual(['http://[::1]:80']);
});

it('a page that listens everywhere has every address of its machine', () => {
  const listens = { host: '0.0.0.0', port: 9000 };
  expect(pageAddresses(listens).slice(0, 2)).toEqual(['http://127.0.0.1:9000', `http://${hostname()}:9000`]);
  expect(isForThisMachineOnly(listens)).toBe(false);
});

it('the address from the operator comes first', () => {
  const listens = { host: '127.0.0.1', port: 8080, publicUrl: 'https://lab.example/monitor/' };
  expect(pageAddresses(listens)).toEqual(['https://lab.example/monitor', 'http://127.0.0.1:8080']);
  expect(isForThisMachineOnly(listens)).toBe(false);
});

it('runs have the paths of the page', () => {
  expect(runPath('quickstart-20261122-101500')).toBe('/#/runs/quickstart-20261122-101500');
});
