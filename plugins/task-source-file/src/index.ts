import { Doc, LocalFile, type TaskSourceComponent } from '@ui-rl/plugin-kit';
import { IsInt, IsOptional, Min } from 'class-validator';
import { readTasks } from './read-tasks';

class FileOptions {
  @Doc('a list of tasks as YAML or JSON, or one task a line as JSON (.jsonl)')
  @LocalFile()
  path: string;

  @Doc('so many tasks at most')
  @IsOptional()
  @IsInt()
  @Min(1)
  limit?: number;
}

const file: TaskSourceComponent<FileOptions> = {
  kind: 'task-source',
  name: 'file',
  description: 'Whole tasks from a file.',
  options: FileOptions,
  create: ({ path, limit }) => ({ load: async () => (await readTasks(path)).slice(0, limit) }),
};

export default file;
