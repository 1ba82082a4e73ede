import { Controller, Get, Inject, Param, Req } from '@nestjs/common';
import type { HttpRequest } from './messages';
import { ApiError } from '../errors';
import type { ServedModel } from '../policy';
import { PolicyDirectory } from './directory';
import { sessionOf } from './exchange';

@Controller('v1/models')
export class ModelsController {
  constructor(@Inject(PolicyDirectory) private readonly directory: PolicyDirectory) {}

  /** Lists the base model, `latest`, and the latest checkpoint. Requests may name others of the run, too. */
  @Get()
  async list(@Req() request: HttpRequest): Promise<object> {
    const models = await this.directory.policyOf(sessionOf(request)).models();
    return { object: 'list', data: models.map(modelOf) };
  }

  /** Names with slashes arrive encoded (`uirl:%2F%2F…`) or plain. */
  @Get('*name')
  async one(@Req() request: HttpRequest, @Param('name') name: string | string[]): Promise<object> {
    const wanted = Array.isArray(name) ? name.join('/') : name;
    const models = await this.directory.policyOf(sessionOf(request)).models();
    const found = models.find(({ id }) => id === wanted);
    if (found !== undefined) return modelOf(found);
    throw new ApiError(404, `there is no model "${wanted}"`, 'model_not_found', 'model');
  }
}

function modelOf({ id, created, run, step }: ServedModel): object {
  return { id, object: 'model', created, owned_by: run, step };
}
