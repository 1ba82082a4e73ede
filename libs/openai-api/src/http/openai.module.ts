import { Module, type DynamicModule } from '@nestjs/common';
import { Seal } from '../responses/seal';
import { ChatController } from './chat.controller';
import { CompletionsController } from './completions.controller';
import { PolicyDirectory } from './directory';
import { Exchanges } from './exchange';
import { Limiter } from './limiter';
import { MessagesController } from './messages.controller';
import { ModelsController } from './models.controller';
import { ResponsesController } from './responses.controller';

/** OpenAI's API for policies, and Anthropic's Messages API. */
@Module({})
export class OpenAiModule {
  static of(directory: PolicyDirectory, limiter: Limiter, seal: Seal): DynamicModule {
    return {
      module: OpenAiModule,
      controllers: [
        ModelsController,
        ChatController,
        CompletionsController,
        ResponsesController,
        MessagesController,
      ],
      providers: [
        { provide: PolicyDirectory, useValue: directory },
        { provide: Limiter, useValue: limiter },
        { provide: Seal, useValue: seal },
        Exchanges,
      ],
    };
  }
}
