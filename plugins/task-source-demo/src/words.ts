/** The closed vocabulary of Pocket's screens, as shown by `pocket/index.html`. A test compares both. */

export const APPS = ['Settings', 'Clock', 'Notes', 'Chat', 'People', 'Music', 'Store', 'Camera'] as const;
export const PAGES = ['Network', 'Display', 'Sound', 'Battery', 'Language'] as const;
export const LANGUAGES = ['English', 'German', 'French', 'Spanish', 'Italian'] as const;
export const CHATS = ['Anna', 'Ben', 'Carl', 'Dora', 'Emma'] as const;
export const PEOPLE = [...CHATS, 'Finn', 'Gina'] as const;
export const NEWCOMERS = ['Hugo', 'Iris', 'Jack'] as const;
export const NOTES = ['milk', 'bread', 'eggs', 'rice', 'tea'] as const;
export const GREETINGS = ['hello', 'thanks', 'sorry', 'bye', 'yes'] as const;
export const SONGS = ['Rain', 'Moon', 'River', 'Fire', 'Snow'] as const;
export const STORE = ['Maps', 'Mail', 'Chess', 'Radio', 'Bank', 'Weather'] as const;
export const ALERTS = ['Anna', 'Ben', 'Carl', 'Update', 'Alarm'] as const;

/** Screen → labels of its toggles. */
export const TOGGLES: Readonly<Record<string, readonly string[]>> = {
  'settings/network': ['Wi-Fi', 'Bluetooth', 'Airplane', 'Hotspot', 'Data'],
  'settings/display': ['Dark mode', 'Night light', 'Rotation'],
  'settings/sound': ['Vibrate', 'Silent', 'Key tones'],
  'settings/battery': ['Power saver', 'Percent', 'Fast charge'],
  clock: ['Alarm 6', 'Alarm 7', 'Alarm 8'],
  camera: ['Flash', 'Grid'],
  alerts: ['Torch'],
};

/** Screen → labels of its steppers, 1 to 5. */
export const STEPPERS: Readonly<Record<string, readonly string[]>> = {
  'settings/display': ['Brightness', 'Contrast'],
  'settings/sound': ['Volume', 'Ringer'],
  'clock/timer': ['Minutes'],
  camera: ['Zoom'],
};

/** Titles, buttons and placeholders. */
const FURNITURE = [
  ...['Back', 'Home', 'Alerts', 'Add', 'More', 'Text', 'Name', 'Search', 'Timer', 'New note', 'New name'],
  ...['Unlock', 'Clear', 'Empty', 'Torch', 'Silent', 'Start', 'Stop', 'Save', 'Delete', 'Send', 'Call'],
  ...['Calling', 'End', 'Favorite', 'Take photo'],
];

/** Every visible label except steppers' digits. */
export function labels(): string[] {
  const lists = [
    APPS,
    PAGES,
    LANGUAGES,
    PEOPLE,
    NEWCOMERS,
    NOTES,
    GREETINGS,
    SONGS,
    STORE,
    ALERTS,
    FURNITURE,
  ];
  return [
    ...new Set(
      [...lists, ...Object.values(TOGGLES), ...Object.values(STEPPERS)].flatMap((list) => [...list]),
    ),
  ];
}

/** The form of a label in state paths and screen names: `Wi-Fi` → `wifi`. */
export function keyOf(label: string): string {
  return label.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** State path of a screen's toggle or stepper. */
export function controlPath(screen: string, label: string): string {
  const inApp = screen.startsWith('clock') || screen === 'camera';
  return inApp ? `apps.${screen.split('/')[0]}.${keyOf(label)}` : `settings.${keyOf(label)}`;
}
