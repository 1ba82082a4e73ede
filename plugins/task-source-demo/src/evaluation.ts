import type { Entry } from './entry';

/**
 * Goals that are never used for training or demonstrations. Each is a new combination: all of its words and screens
 * occur in training goals.
 */
export const EVALUATION: readonly Entry[] = [
  { name: 'open_language_settings', goal: 'Open Language settings', from: 'home' },
  { name: 'open_chat_anna', goal: 'Open chat with Anna', from: 'chat' },
  { name: 'open_contact_ben', goal: 'Open contact Ben', from: 'people' },
  { name: 'disable_torch', goal: 'Turn off Torch', from: 'home' },
  { name: 'enable_bluetooth', goal: 'Turn on Bluetooth', from: 'settings' },
  { name: 'disable_wifi', goal: 'Turn off Wi-Fi', from: 'settings' },
  { name: 'enable_airplane', goal: 'Turn on Airplane', from: 'settings/network' },
  { name: 'disable_dark_mode', goal: 'Turn off Dark mode', from: 'settings/display' },
  { name: 'enable_silent', goal: 'Turn on Silent', from: 'settings/sound' },
  { name: 'disable_rotation', goal: 'Turn off Rotation', from: 'home' },
  { name: 'set_volume_2', goal: 'Set Volume to 2', from: 'settings/sound' },
  { name: 'set_brightness_4', goal: 'Set Brightness to 4', from: 'settings' },
  { name: 'play_river', goal: 'Play River', from: 'home' },
  { name: 'like_moon', goal: 'Click the heart after Moon', from: 'music' },
  { name: 'disable_alarm_7', goal: 'Turn off Alarm 7', from: 'clock' },
  { name: 'remove_chess', goal: 'Remove Chess', from: 'store' },
  { name: 'call_ben', goal: 'Call Ben', from: 'people' },
  { name: 'write_note_milk', goal: 'Type "milk" as a note and click Save', from: 'notes' },
  { name: 'send_hello_ben', goal: 'Type "hello" to Ben and click Send', from: 'chat/ben' },
  { name: 'send_thanks_anna', goal: 'Type "thanks" to Anna and click Send', from: 'chat' },
];
