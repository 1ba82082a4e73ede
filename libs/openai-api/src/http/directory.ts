import { ResponseStore } from '../responses/store';
import type { ServedPolicy } from '../policy';

/** Finds who answers a request. A class, so that it can be injected. */
export abstract class PolicyDirectory {
  private readonly stores = new WeakMap<ServedPolicy, ResponseStore>();

  /**
   * @param session of the address `…/sessions/<id>/v1`; undefined where there are no sessions
   * @throws ApiError where there is none
   */
  abstract policyOf(session: string | undefined): ServedPolicy;

  /** The responses of a policy that may be gone on from. */
  storeOf(policy: ServedPolicy): ResponseStore {
    const store = this.stores.get(policy) ?? new ResponseStore();
    this.stores.set(policy, store);
    return store;
  }
}
