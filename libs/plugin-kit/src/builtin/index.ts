import type { Component } from '../kinds';
import { checks } from './checks';
import { json } from './json';

/** Components of this package itself. */
export const components: readonly Component[] = [checks, json] as Component[];
