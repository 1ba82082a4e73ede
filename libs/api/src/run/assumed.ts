/** Required options for commands that use only parts of a run file and start no run. */
export const ASSUMED = { 'model.name': 'small', tasks: 'demo_training', 'training.max_steps': 1 };
