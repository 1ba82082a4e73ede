import type { JudgedEpisode } from '@ui-rl/records';
import { CheckWords } from './episode-checks';
import { count, plural } from './format';

/** Failed checks that are listed. */
const LISTED = 3;

/** The reasons of the failure of an episode that the records hold, above everything else. */
export function FailureReasons({ episode }: { episode: JudgedEpisode }) {
  const { status, success, checks } = episode;
  if (status === 'invalid' || success !== false) return null;
  const failed = checks.filter(({ holds }) => holds === false);
  return (
    <section className="why" aria-label="Why it failed">
      <strong>Why it failed</strong>
      <ul>
        {failed.slice(0, LISTED).map(({ check, found }, index) => (
          <li key={index}>
            <CheckWords check={check} />
            {found !== null && (
              <>
                : found <code>{found}</code>
              </>
            )}
          </li>
        ))}
        {failed.length > LISTED && <li>{plural(failed.length - LISTED, 'other failed check')}</li>}
        {failed.length === 0 && <li>The verifier found no success. No check of the task failed.</li>}
        {otherReasons(episode).map((words) => (
          <li key={words}>{words}</li>
        ))}
      </ul>
    </section>
  );
}

function otherReasons({ status, turnCount, reportedSuccess, firstSuccess, faults }: JudgedEpisode): string[] {
  const counts = [
    [faults.parseErrors, 'unreadable answer'],
    [faults.toolErrors, 'unknown action'],
    [faults.argumentErrors, 'wrong argument'],
    [faults.runtimeErrors, 'failed action'],
    [faults.repeatedActions, 'repeated action'],
  ] as const;
  const found = counts.flatMap(([number, noun]) =>
    number === null || number === 0 ? [] : [plural(number, noun)],
  );
  return [
    ...(status === 'truncated' ? [`It used up its ${plural(turnCount, 'turn')}.`] : []),
    ...(firstSuccess === null
      ? []
      : [`All checks held after turn ${count(firstSuccess + 1)}, but not at the end.`]),
    ...(reportedSuccess === null
      ? []
      : [reportedSuccess ? 'The agent reported success.' : 'The agent gave up.']),
    ...(found.length === 0 ? [] : [`${found.join(', ')}.`]),
  ];
}
