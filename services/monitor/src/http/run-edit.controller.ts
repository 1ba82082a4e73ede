import { Body, Controller, Param, Patch, UseInterceptors } from '@nestjs/common';
import { editRun, type RunLabels } from '@ui-rl/records';
import { DataSource } from 'typeorm';
import { LiveChanges } from '../live';
import { found } from './found';
import { RUN } from './names';
import { QueryGate } from './query-gate';
import { changesIn, RunEdit } from './run-edit';

/** Labels of runs: the only data that the monitor changes on request. */
@Controller('api')
@UseInterceptors(QueryGate)
export class RunEditController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly live: LiveChanges,
  ) {}

  /** Names, annotates, tags or archives a run; answers with all of its labels. */
  @Patch('runs/:run')
  async edit(@Param('run', RUN) id: string, @Body() edit: RunEdit): Promise<RunLabels> {
    const labels = found(await editRun(this.dataSource, id, changesIn(edit)), `run ${id}`);
    this.live.edited(id);
    return labels;
  }
}
