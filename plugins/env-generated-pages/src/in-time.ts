import { PluginError, type Deadline, type Reply } from '@ui-rl/plugin-kit';

/**
 * The result of work in a browser as a reply: `bad_task` if the task is wrong, `crashed` if the browser fails,
 * `deadline` if it takes too long.
 */
export async function replyInTime<T>({ signal }: Deadline, work: () => Promise<T>): Promise<Reply<T>> {
  let stop = (): void => undefined;
  const tooLate = new Promise<Reply<T>>((resolve) => {
    stop = () =>
      resolve({ ok: false, error: { code: 'deadline', message: 'the page did not answer in time' } });
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([tooLate, work().then((value) => ({ ok: true as const, value }))]);
  } catch (error) {
    const code = error instanceof PluginError ? 'bad_task' : 'crashed';
    return { ok: false, error: { code, message: (error as Error).message.slice(0, 300) } };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
