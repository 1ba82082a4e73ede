import type { SetAsideView as Message } from '@ui-rl/records';
import { useApi, useVersion } from './api';
import { day } from './format';
import { Card, Empty, Problem } from './ui';

export function SetAsideView() {
  const { data: messages, error } = useApi<Message[]>('/api/set-aside', useVersion(null));
  return (
    <Card title="Messages set aside">
      <Problem error={error} />
      {messages?.length === 0 && <Empty>Every message could be read.</Empty>}
      {messages?.map((message) => (
        <details className="aside" key={message.key}>
          <summary>
            <span className="muted">{day(message.at)}</span> <strong>{message.service}</strong>{' '}
            <code>{message.subject}</code>
            <p>{message.reason}</p>
          </summary>
          <p className="muted">
            <code>nats kv get set_aside {message.key}</code> · {message.sizeBytes} bytes
            {message.encoding === 'utf8' ? '' : `, ${message.encoding}`}
          </p>
          <pre className="json">{message.payload === '' ? '(empty)' : message.payload}</pre>
        </details>
      ))}
    </Card>
  );
}
