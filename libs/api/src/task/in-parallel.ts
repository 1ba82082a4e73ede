/**
 * Runs the work for indices 0 … count - 1, several at once.
 *
 * @param onFailure stops the other work: called with the first failure, which is thrown once all have settled
 */
export async function inParallel(
  count: number,
  workers: number,
  work: (place: number) => Promise<void>,
  onFailure: () => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count && failures.length === 0) await work(next++);
  };
  const fail = async (error: unknown): Promise<void> => {
    failures.push(error);
    await onFailure();
  };
  await Promise.all(Array.from({ length: Math.min(workers, count) }, () => worker().catch(fail)));
  if (failures.length > 0) throw failures[0];
}
