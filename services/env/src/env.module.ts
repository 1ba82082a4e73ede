import { Injectable, Module, type DynamicModule, type OnModuleDestroy } from '@nestjs/common';
import { Sessions } from '@ui-rl/plugin-kit';
import { EnvController } from './env.controller';

/** Ends all sessions, and the browsers behind them, once no request is taken any more. */
@Injectable()
class SessionsEnd implements OnModuleDestroy {
  constructor(private readonly sessions: Sessions) {}

  async onModuleDestroy(): Promise<void> {
    await this.sessions.close();
  }
}

/** Answers env.open, env.step and env.close with the sessions it is given. */
@Module({})
export class EnvModule {
  static forRoot(sessions: Sessions): DynamicModule {
    return {
      module: EnvModule,
      controllers: [EnvController],
      providers: [{ provide: Sessions, useValue: sessions }, SessionsEnd],
    };
  }
}
