import { readDeviceChecks } from './device-checks';
import { DeviceCommandError } from './errors';

const settings = '  mCurrentFocus=Window{1a2b3c u0 com.android.settings/.Settings}\n';

it.each([{ focus: 'com.android.settings' }, { activity: 'Settings' }])(
  'judges what has the focus by what the device says: %j',
  (validator) => {
    const [{ judge }] = readDeviceChecks([validator]);
    expect(judge({ exitCode: 0, stdout: settings })).toEqual({
      actual: 'com.android.settings/com.android.settings.Settings',
      success: true,
    });
    expect(judge({ exitCode: 0, stdout: '  mCurrentFocus=null\n' })).toEqual({ actual: '', success: false });
  },
);

it.each([
  { setting: 'global wifi_on', expected: 1 },
  { focus: 'com.android.settings' },
  { activity: 'Settings' },
  { package: 'com.android.settings' },
  { file: '/sdcard/a.txt' },
])('a command that failed says nothing of the task: %j', (validator) => {
  const [{ judge }] = readDeviceChecks([validator]);
  for (const stdout of ["Can't find service: window\n", settings]) {
    expect(() => judge({ exitCode: 124, stdout })).toThrow(DeviceCommandError);
  }
});

it.each([{ focus: 'com.android.settings' }, { activity: 'Settings' }])(
  'no line of the focus is a device that does not tell it: %j',
  (validator) => {
    const [{ judge }] = readDeviceChecks([validator]);
    expect(() => judge({ exitCode: 1, stdout: '' })).toThrow(
      'dumpsys window | grep mCurrentFocus ended with 1',
    );
  },
);
