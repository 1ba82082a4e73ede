/** What a run file has to say, where only parts of it are used: no run is begun. */
export const ASSUMED = { 'model.name': 'small', tasks: 'demo_training', 'training.max_steps': 1 };
