import type { DeadLetterView as Message } from '@ui-rl/records';
import { useApi, useVersion } from './api';
import { day } from './format';
import { useTitle } from './route';
import { Card, Empty, Problem } from './ui';

export function DeadLetterView() {
  useTitle('Dead letters');
  const { data: messages, error } = useApi<Message[]>('api/dead-letters', useVersion(null));
  return (
    <>
      <header className="page-head">
        <h1>Dead letters</h1>
      </header>
      <Card>
        <Problem error={error} />
        {messages?.length === 0 && <Empty>Every message could be read.</Empty>}
        {messages?.map((message) => (
          <details className="dead-letter" key={message.key}>
            <summary>
              <span className="muted">{day(message.at)}</span> <strong>{message.service}</strong>{' '}
              <code>{message.subject}</code>
              <p>{message.reason}</p>
            </summary>
            <p className="muted">
              <code>nats kv get dead_letters {message.key}</code> · {message.sizeBytes} bytes
              {message.encoding === 'utf8' ? '' : `, ${message.encoding}`}
            </p>
            <pre className="json" tabIndex={0} role="group" aria-label="Content of the message">
              {message.payload === '' ? '(empty)' : message.payload}
            </pre>
          </details>
        ))}
      </Card>
    </>
  );
}
