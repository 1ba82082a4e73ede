import { ListPopup } from './list';
import type { Effect } from './popup';

/** Suggestions below a text field, which keeps the keyboard focus: the list handles only navigation keys. */
export class Suggestions extends ListPopup {
  override readonly name = 'suggestions';

  override key(name: string): Effect | null {
    if (name === 'up' || name === 'down' || name === 'escape') return super.key(name);
    return (name === 'enter' || name === 'tab') && this.highlighted >= 0 ? super.key(name) : null;
  }

  override type(): Effect | null {
    return null;
  }

  override leave(): Effect {
    return { closes: true };
  }
}
