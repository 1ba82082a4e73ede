/** Options of related projects that people will try, and what to do instead. */
export const UNSUPPORTED: Readonly<Record<string, string>> = {
  kl_penalty_coef: 'a KL penalty is not supported yet',
  compute_post_kl: 'KL after a step is not computed; optim/kl_sample_train_v1 and _v2 are logged each step',
  box_type: 'boxes are of the environment gbox: environment: {kind: {name: gbox, box_type: android}}',
  gbox_api_key: 'an env service has its key from its own environment: GBOX_API_KEY',
  tinker_api_key: 'the learner has the key of engine tinker from its own environment: TINKER_API_KEY',
  executable_path: 'a service has its browser from its own configuration: CHROMIUM_BIN',
};
