import { loadComponents, loadTasks, Sessions, type Task } from '@ui-rl/plugin-kit';
import { Adb, FakeAdbd, FakePhone } from '@ui-rl/testkit';

/** An environment with its tasks. */
export interface World {
  sessions: Sessions;
  tasks: readonly Task[];
  /** Clears the logs of the test devices. */
  forget(): void;
  stop(): Promise<void>;
}

type Opens = (atOnce: number, log: (message: string) => void) => Promise<World>;

/** Environments for the random agent, by component name. */
export const WORLDS: Readonly<Record<string, Opens>> = {
  /** The pages of the demo tasks. */
  browser: async (atOnce, log) => {
    const components = await loadComponents({ packages: [] });
    const context = {
      ...{ pages: components.pages, maxSessions: atOnce, programs: {}, variables: {} },
      log: (_level: string, message: string) => log(message),
    };
    const sessions = new Sessions(await components.create('environment', { name: 'browser' }, context), {
      maxSessions: atOnce,
    });
    const tasks = await loadTasks(components, [{ source_type: 'demo_all' }]);
    return { sessions, tasks, forget: () => {}, stop: () => sessions.close() };
  },

  /** The real adb server with fake devices that speak adb's protocol. */
  android: async (atOnce, log) => {
    const adb = await Adb.start();
    const phones: FakeAdbd[] = [];
    for (let index = 0; index < atOnce; index += 1) phones.push(await FakeAdbd.listen(new FakePhone()));
    const components = await loadComponents({ packages: [] });
    const ANDROID_SERIAL = phones.map(({ serial }) => serial).join(',');
    const context = {
      ...{ pages: {}, maxSessions: atOnce, programs: {}, variables: { ...adb.variables, ANDROID_SERIAL } },
      log: (_level: string, message: string) => log(message),
    };
    const choice = { name: 'android', delay_ms: 0 };
    const sessions = new Sessions(await components.create('environment', choice, context), {
      maxSessions: atOnce,
    });
    return {
      sessions,
      tasks: androidTasks(),
      forget: () => phones.forEach(forgetAll),
      stop: async () => {
        await sessions.close();
        await Promise.all(phones.map((phone) => phone.stop()));
        await adb.stop();
      },
    };
  },
};

function forgetAll({ phone, services }: FakeAdbd): void {
  phone.log.length = 0;
  phone.typed = '';
  services.length = 0;
}

function androidTasks(): Task[] {
  const settings = { settings: { 'global wifi_on': 0 }, open: 'com.android.settings' };
  const validators = [{ setting: 'global wifi_on', expected: 1 }, { focus: 'com.android.settings' }];
  return [
    {},
    { start: settings, validators },
    { start: { stop: ['com.android.chrome'] }, validators: [{ package: 'com.android.chrome' }] },
  ].map((options, index) => ({
    id: `t${index}`,
    description: 'Play',
    environment: { kind: 'android', options },
  }));
}
