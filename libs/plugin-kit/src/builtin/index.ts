import type { Component } from '../kinds';
import { checks } from './checks';
import { dialects } from './dialects';
import { json } from './json';

/** Built-in components of this package. */
export const components: readonly Component[] = [checks, json, ...dialects] as Component[];
