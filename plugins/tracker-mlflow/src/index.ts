import { Doc, PluginError, type TrackerComponent } from '@ui-rl/plugin-kit';
import { IsNotEmpty, IsOptional, IsString } from 'class-validator';
import { MlflowRun } from './mlflow-run';
import { paramsOf } from './params';
import { RunStore } from './run-store';
import { Server, type ServerAddress } from './server';

class MlflowOptions {
  @Doc('MLflow experiment, created if it does not exist')
  @IsString()
  @IsNotEmpty()
  mlflow_experiment = 'ui-rl';

  @Doc('name of the run there; default: the run id')
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  mlflow_run_name?: string;
}

/** Time limit of one request. */
const REQUEST_MS = 5_000;

const mlflow: TrackerComponent<MlflowOptions> = {
  kind: 'tracker',
  name: 'mlflow',
  description: 'Sends the metrics to an MLflow server, and the run file as its parameters.',
  options: MlflowOptions,
  environment: {
    MLFLOW_TRACKING_URI: 'address of the server, http://host:5000',
    MLFLOW_TRACKING_TOKEN: 'sent to it as a bearer token',
    MLFLOW_TRACKING_USERNAME: 'user name, together with the password',
    MLFLOW_TRACKING_PASSWORD: 'password',
  },
  create: ({ mlflow_experiment: experiment, mlflow_run_name: name }, { runId, config, environment, log }) => {
    const uri = environment.MLFLOW_TRACKING_URI;
    if (uri === undefined || !/^https?:\/\/[^\s?#]+$/.test(uri) || !URL.canParse(uri)) {
      const found = uri === undefined ? 'is not set' : 'is not such an address';
      throw new PluginError(
        'option',
        `tracker mlflow needs the address of a server in the environment of the learner, MLFLOW_TRACKING_URI=http://host:5000, which ${found}`,
      );
    }
    const server = new Server(addressOf(uri, environment), REQUEST_MS);
    const params = paramsOf(config);
    return new MlflowRun(new RunStore(server), { runId, experiment, name: name ?? runId, params, log });
  },
};

/** The address may include name and password, as in MLflow's own client. */
function addressOf(uri: string, environment: Readonly<Record<string, string | undefined>>): ServerAddress {
  const url = new URL(uri);
  const [username, password] = [url.username, url.password].map((text) =>
    text === '' ? undefined : decodeURIComponent(text),
  );
  url.username = url.password = '';
  return {
    uri: url.href,
    token: environment.MLFLOW_TRACKING_TOKEN,
    username: environment.MLFLOW_TRACKING_USERNAME ?? username,
    password: environment.MLFLOW_TRACKING_PASSWORD ?? password,
  };
}

export default mlflow;
