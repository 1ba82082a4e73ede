const STEPS = 2;
const BUTTON = { top: 32, height: 64 };
const LABELS = ['More', 'Save', 'Like'];

/**
 * Two steps, shown by a bar, then saved. More goes a step further; Save ends it, and counts only after the last step; Like changes
 * its colour and nothing else.
 */
const steps = () => {
  let [step, liked, saved] = [0, false, -1];
  const press = {
    More: () => (step = Math.min(step + 1, STEPS)),
    Save: () => (saved = step),
    Like: () => (liked = !liked),
  };
  return {
    draw(drawing) {
      drawing.clear();
      drawing.rect(0, 0, 160, BUTTON.top - 4, '#e5e7eb');
      drawing.rect(0, 0, Math.round((160 * step) / STEPS), BUTTON.top - 4, '#2563eb');
      LABELS.forEach((label, index) => {
        const top = BUTTON.top + index * BUTTON.height;
        drawing.rect(4, top, 152, BUTTON.height - 4, label === 'Like' && liked ? '#e11d48' : '#e5e7eb');
        drawing.write(label, 56, top + 26);
      });
    },
    click(x, y) {
      const label = LABELS[Math.floor((y - BUTTON.top) / BUTTON.height)];
      if (label !== undefined && saved < 0) press[label]();
    },
    state: () => ({ step, saved }),
    done: () => saved >= 0,
  };
};
