import 'reflect-metadata';
import { subjects } from '@ui-rl/contracts';

console.log(subjects.task('x'));
