/** Options of related projects that users may try, with the alternative. */
export const UNSUPPORTED: Readonly<Record<string, string>> = {
  gbox_api_key:
    'no run file has keys: an env service has its key from its own environment, GBOX_API_KEY; npx ui-rl up --gbox_api_key KEY, or quickstart, brings it there',
  tinker_api_key:
    'no run file has keys: set TINKER_API_KEY in the environment of the learner, and TINKER_BASE_URL to the address of the service, where alone the key is sent',
  executable_path: 'a service has its browser from its own configuration: CHROMIUM_BIN',
};
