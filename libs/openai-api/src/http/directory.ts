import { ResponseStore } from '../responses/store';
import type { ServedPolicy } from '../policy';

/** Finds the policy for a request. A class, so that it can be injected. */
export abstract class PolicyDirectory {
  private readonly stores = new WeakMap<ServedPolicy, ResponseStore>();

  /**
   * @param session from the address `…/sessions/<id>/v1`; undefined without sessions
   * @throws ApiError if there is no such policy
   */
  abstract policyOf(session: string | undefined): ServedPolicy;

  /** The stored responses of a policy, which requests may continue. */
  storeOf(policy: ServedPolicy): ResponseStore {
    const store = this.stores.get(policy) ?? new ResponseStore();
    this.stores.set(policy, store);
    return store;
  }
}
