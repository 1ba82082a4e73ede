import type { TaskHeatMap } from '@ui-rl/records';
import { useApi } from './api';
import { count, percent } from './format';
import { links } from './route';
import { Card, Empty, Problem } from './ui';
import { runPath } from './reads';

/** Success in training by task and policy version. A cell leads to its episodes. */
export function TaskHeatMapView({ run, version }: { run: string; version: number }) {
  const path = `${runPath(run)}/heat-map`;
  const { data, error } = useApi<TaskHeatMap>(path, version);
  return (
    <Card title="Success in training by task and policy version">
      <Problem error={error} />
      {data?.tasks.length === 0 && <Empty>No training episode has been judged yet.</Empty>}
      {data !== null && data.tasks.length > 0 && <HeatTable run={run} map={data} />}
    </Card>
  );
}

function HeatTable({ run, map }: { run: string; map: TaskHeatMap }) {
  const { width, from, total, tasks } = map;
  return (
    <>
      <p className="note">
        The success rate in percent of the training episodes that each policy version played; a version counts
        training steps. Choose a number to see its episodes. The lowest rates are first
        {total > tasks.length &&
          `; ${count(tasks.length)} of ${count(total)} tasks, those with most episodes`}
        .
      </p>
      <div className="scroll heat-scroll" tabIndex={0} role="group" aria-label="Success by task and version">
        <table className="rows heat">
          <thead>
            <tr>
              <th scope="col">Task</th>
              <th scope="col" className="num">
                All
              </th>
              {from.map((first) => (
                <th key={first} scope="col" className="num" title={columnName(first, width)}>
                  {first}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tasks.map(({ taskId, description, successes, episodes, cells }) => (
              <tr key={taskId}>
                <th scope="row" title={taskId}>
                  {description}
                  {taskId !== description && <small className="muted">{taskId}</small>}
                </th>
                <td className="num">
                  <HeatCell
                    href={links.episodesWith(run, { purpose: 'train', taskId })}
                    counted={[successes, episodes]}
                    words="all versions"
                  />
                </td>
                {cells.map((counted, place) => (
                  <td key={from[place]} className="num">
                    {counted !== null && (
                      <HeatCell
                        href={links.episodesWith(run, {
                          ...{ purpose: 'train', taskId, minVersion: String(from[place]) },
                          maxVersion: String(from[place] + width - 1),
                        })}
                        counted={counted}
                        words={columnName(from[place], width)}
                      />
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function columnName(first: number, width: number): string {
  return width === 1
    ? `after ${count(first)} step${first === 1 ? '' : 's'}`
    : `after ${count(first)} to ${count(first + width - 1)} steps`;
}

interface HeatCellProps {
  href: string;
  counted: [successes: number, episodes: number];
  words: string;
}

function HeatCell({ href, counted: [successes, episodes], words }: HeatCellProps) {
  const rate = successes / episodes;
  const title = `${count(successes)} of ${count(episodes)} episodes succeeded, ${words}`;
  return (
    <a href={href} className="cell" title={title} style={{ '--rate': rate }}>
      {percent(rate).replace(' %', '')}
    </a>
  );
}
