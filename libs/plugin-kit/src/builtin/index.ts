import type { Component } from '../kinds';
import { checks } from './checks';
import { dialects } from './dialects';
import { json } from './json';

/** Components of this package itself. */
export const components: readonly Component[] = [checks, json, ...dialects] as Component[];
