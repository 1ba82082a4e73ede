import { InvalidShareAlarm } from './invalid-share';

describe('the alarm for invalid episodes', () => {
  it('is raised above 5 %, once enough episodes have been seen, and again after the share has fallen', () => {
    const alarm = new InvalidShareAlarm();
    expect(alarm.update({ trajectories: 19, invalid: 19 })).toBeUndefined();
    expect(alarm.update({ trajectories: 20, invalid: 1 })).toBeUndefined();
    expect(alarm.update({ trajectories: 21, invalid: 2 })).toBe(
      '2 of 21 training episodes failed in the infrastructure (alarm at 5 %)',
    );
    expect(alarm.update({ trajectories: 22, invalid: 3 })).toBeUndefined();
    expect(alarm.update({ trajectories: 100, invalid: 4 })).toBeUndefined();
    expect(alarm.update({ trajectories: 101, invalid: 6 })).toContain('6 of 101');
  });
});
